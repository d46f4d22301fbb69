"""The surface and the sampler that a message of Gen6 or later names."""

from __future__ import annotations

from gen4emu.decode.resources import Kind, Resource
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import SamplerMessageType, SamplerSimdMode, SharedFunctionGen6
from gen4emu.isa.instruction import Descriptor
from gen4emu.isa.later_message_text import message_of

_FIRST_SPECIAL_INDEX = 252  # from Gen6 on: bindless, shared local and stateless memory
_WITHOUT_SAMPLER = frozenset({
    SamplerMessageType.LD, SamplerMessageType.LD_LZ, SamplerMessageType.LD_MCS, SamplerMessageType.LD2DMS,
    SamplerMessageType.LD2DMS_W, SamplerMessageType.LD2DSS, SamplerMessageType.RESINFO, SamplerMessageType.SAMPLEINFO})
_MEDIA_STATES = {8: "DNDI_STATE", 11: "SAMPLER_8x8"}  # by message type: deinterlace, sample_8x8


def resource_of(descriptor: Descriptor, gen: Gen) -> Resource | None:
    message = message_of(descriptor.sfid, gen)
    if message is None:
        return None
    view = message.view((descriptor.bits,), gen=gen)
    names = {f.name: raw for f, raw in view.fields()}
    index = names.get("binding_table_index", _FIRST_SPECIAL_INDEX)
    if index >= _FIRST_SPECIAL_INDEX:
        return None
    if descriptor.sfid == SharedFunctionGen6.SAMPLER:
        kind = names["message_type"]
        if names["simd_mode"] == SamplerSimdMode.SIMD32_64 and kind in _MEDIA_STATES:
            return Resource(Kind.TEXTURE, index, names["sampler_index"], _MEDIA_STATES[kind])
        uses_sampler = kind not in _WITHOUT_SAMPLER
        return Resource(Kind.TEXTURE, index, names["sampler_index"] if uses_sampler else None)
    is_target = descriptor.sfid == SharedFunctionGen6.RENDER_CACHE_DATA_PORT and \
        str(getattr(view.message_type, "name", "")).startswith("RENDER_TARGET")
    return Resource(Kind.TARGET if is_target else Kind.SURFACE, index)
