"""The parameters of Gen7's sampler messages, by message type and SIMD mode (IVB PRM vol. 4 part 1, message format).

SIMD8 and SIMD16 messages have the same parameters, in one or two registers each; SIMD4x2 messages have four in half a
register.  Parameters at the end that the message length leaves out are 0.
"""

from __future__ import annotations

from gen4emu.hw.gen4.message_shapes import SamplerMessage
from gen4emu.hw.gen6.messages import SamplerMessageType as Type
from gen4emu.hw.gen6.messages import SamplerSimdMode

_POINT = "u v r ai"
_GRADIENTS = "u dudx dudy v dvdx dvdy r drdx drdy ai"
_WIDE: dict[Type, str] = {
    Type.SAMPLE: _POINT,
    Type.SAMPLE_B: f"bias {_POINT}",
    Type.SAMPLE_L: f"lod {_POINT}",
    Type.SAMPLE_C: f"ref {_POINT}",
    Type.SAMPLE_D: _GRADIENTS,
    Type.SAMPLE_B_C: f"ref bias {_POINT}",
    Type.SAMPLE_L_C: f"ref lod {_POINT}",
    Type.LD: "u lod v r",
    Type.GATHER4: _POINT,
    Type.LOD: _POINT,
    Type.RESINFO: "lod",
    Type.SAMPLEINFO: "",
    Type.GATHER4_C: f"ref {_POINT}",
    Type.GATHER4_PO: "u v off_u off_v r",
    Type.GATHER4_PO_C: "ref u v off_u off_v r",
    Type.SAMPLE_D_C: f"ref {_GRADIENTS}",
    Type.LD_MCS: "u v r",
    Type.LD2DMS: "si mcs u v r",
    Type.LD2DSS: "si u v r",
}
_NARROW: dict[Type, str] = {
    Type.SAMPLE: _POINT,
    Type.SAMPLE_L: f"{_POINT} lod",
    Type.SAMPLE_C: f"{_POINT} ref",
    Type.SAMPLE_D: f"{_POINT} dudx dudy dvdx dvdy drdx drdy",
    Type.SAMPLE_L_C: f"{_POINT} ref lod",
    Type.LD: "u v r lod",
    Type.GATHER4: _POINT,
    Type.RESINFO: "lod",
    Type.SAMPLEINFO: "",
    Type.GATHER4_C: f"{_POINT} ref",
    Type.GATHER4_PO: "u v r - off_u off_v",
    Type.GATHER4_PO_C: "u v r ref off_u off_v",
    Type.SAMPLE_D_C: f"{_POINT} dudx dudy dvdx dvdy drdx drdy ref",
    Type.LD_MCS: "u v r",
    Type.LD2DMS: "u v r - si mcs",
    Type.LD2DSS: "u v r - si",
}

SAMPLER_MESSAGES_GEN7: dict[tuple[Type, SamplerSimdMode], SamplerMessage] = {
    **{(type_, SamplerSimdMode.SIMD4X2): SamplerMessage(type_.name.lower(), "4x2", parameters, 1)
       for type_, parameters in _NARROW.items()},
    **{(type_, SamplerSimdMode.SIMD8): SamplerMessage(type_.name.lower(), "8", parameters, 4)
       for type_, parameters in _WIDE.items()},
    **{(type_, SamplerSimdMode.SIMD16): SamplerMessage(type_.name.lower(), "16", parameters, 8)
       for type_, parameters in _WIDE.items()},
    (Type.SAMPLE_KILLPIX, SamplerSimdMode.SIMD8): SamplerMessage("sample_killpix", "8", "u v r", 5),
}
