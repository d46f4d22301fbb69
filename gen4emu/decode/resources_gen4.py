"""The surface and the sampler that a message of Gen4 or Gen4.5 names."""

from __future__ import annotations

from gen4emu.decode.resources import Kind, Resource
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import message_for, sampler_message
from gen4emu.hw.gen4.messages import DataPortWriteTypeGen4, SharedFunction
from gen4emu.isa.instruction import Descriptor


def resource_of(descriptor: Descriptor, gen: Gen) -> Resource | None:
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
