"""The surface and the sampler that a message names, by its immediate descriptor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import message_for, sampler_message
from gen4emu.hw.gen4.messages import DataPortWriteTypeGen4, SharedFunction
from gen4emu.hw.gen6.messages import SamplerMessageType, SamplerSimdMode, SharedFunctionGen6
from gen4emu.isa.instruction import Descriptor
from gen4emu.isa.later_message_text import message_of

_FIRST_SPECIAL_INDEX = 252  # from Gen6 on: bindless, shared local and stateless memory
_WITHOUT_SAMPLER = frozenset({
    SamplerMessageType.LD, SamplerMessageType.LD_LZ, SamplerMessageType.LD_MCS, SamplerMessageType.LD2DMS,
    SamplerMessageType.LD2DMS_W, SamplerMessageType.LD2DSS, SamplerMessageType.RESINFO, SamplerMessageType.SAMPLEINFO})


_MEDIA_STATES = {8: "DNDI_STATE", 11: "SAMPLER_8x8"}  # by message type: deinterlace, sample_8x8


class Kind(Enum):
    """What a message does with its surface."""

    SURFACE = "surface"  # reads or writes it by way of a data port
    TEXTURE = "texture"  # samples it
    TARGET = "render target"


@dataclass(slots=True, frozen=True)
class Resource:
    """One entry of the binding table, and the sampler if the message needs one."""

    kind: Kind
    index: int
    sampler: int | None = None
    media_state: str = ""  # the block of the sampler's state, for the media functions; the surface is a media surface


def resource_of(descriptor: Descriptor, gen: Gen) -> Resource | None:
    """What a message names; None if it has no surface, or memory that is no surface."""
    return _gen4(descriptor, gen) if gen & Gen.ALL4 else _later(descriptor, gen)


def _gen4(descriptor: Descriptor, gen: Gen) -> Resource | None:
    message = message_for(descriptor.bits, gen)
    if message is None or "binding_table_index" not in message.by_name(gen):
        return None
    view = message.view((descriptor.bits,), gen=gen)
    index = int(view.binding_table_index)
    if message.sfid == SharedFunction.DATA_PORT_WRITE and view.message_type == DataPortWriteTypeGen4.RENDER_TARGET:
        return Resource(Kind.TARGET, index)
    sample = sampler_message(descriptor.bits, gen)
    sampler = int(view.sampler_index) if sample is not None and sample.uses_sampler else None
    return Resource(Kind.TEXTURE if message.sfid == SharedFunction.SAMPLER else Kind.SURFACE, index, sampler)


def _later(descriptor: Descriptor, gen: Gen) -> Resource | None:
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
