"""The parameters of Gen9's sampler messages (SKL PRM vol. 7, message format): those of Gen7 but for loads and level 0.

The level of a load comes third, and messages whose names end in LZ have none: theirs is level 0.
"""

from __future__ import annotations

from gen4emu.hw.gen4.message_shapes import SamplerMessage
from gen4emu.hw.gen6.messages import SamplerMessageType as Type
from gen4emu.hw.gen6.messages import SamplerSimdMode
from gen4emu.hw.gen7.message_shapes import SAMPLER_MESSAGES_GEN7

_CHANGED: dict[Type, tuple[str, str]] = {  # the operation, and its parameters
    Type.LD: ("ld", "u v lod r"),
    Type.LD_LZ: ("ld", "u v r"),
    Type.SAMPLE_LZ: ("sample_l", "u v r ai"),
    Type.SAMPLE_C_LZ: ("sample_l_c", "ref u v r ai"),
    Type.LD2DMS_W: ("ld2dms", "si mcs mcs_high u v r"),
}

SAMPLER_MESSAGES_GEN9: dict[tuple[Type, SamplerSimdMode], SamplerMessage] = SAMPLER_MESSAGES_GEN7 | {
    (type_, mode): SamplerMessage(operation, width, parameters, response)
    for type_, (operation, parameters) in _CHANGED.items()
    for mode, width, response in ((SamplerSimdMode.SIMD8, "8", 4), (SamplerSimdMode.SIMD16, "16", 8))}
