"""Lengths of messages, and the sampler message that a type and a length select: facts that no field has.

965 PRM vol. 4, 4.8.1.4, 5.10, 6.1 and 7.
"""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import (
    DataPortWriteTypeGen4,
    DwordScatteredSize,
    GatewayFunction,
    MathFunction,
    OwordBlockSize,
    OwordDualBlockSize,
    RenderTargetWriteType,
    SharedFunction,
)
from gen4emu.hw.layout import Message, View


@dataclass(frozen=True, slots=True)
class SamplerMessage:
    """One kind of sampler message.  A parameter `-` is an unused slot of the payload."""

    name: str
    simd: str  # "16": two registers a parameter, "8": one, "4x2": half of one holds four
    parameters: str
    response_length: int  # with no channel masked

    @property
    def uses_sampler(self) -> bool:
        return self.name not in ("ld", "resinfo")


# (message type, message length): no other pair is a message.
SAMPLER_MESSAGES: dict[tuple[int, int], SamplerMessage] = {
    (0, 3): SamplerMessage("sample", "16", "u", 8),
    (0, 5): SamplerMessage("sample", "16", "u v", 8),
    (0, 7): SamplerMessage("sample", "16", "u v r", 8),
    (0, 4): SamplerMessage("sample", "8", "u v r", 4),
    (0, 9): SamplerMessage("sample_b", "16", "u v r bias", 8),
    (0, 2): SamplerMessage("sample_c", "4x2", "u v r ref", 1),
    (0, 6): SamplerMessage("sample_b_c", "8", "u v r bias ref", 4),
    (1, 4): SamplerMessage("sample_killpix", "8", "u v r", 5),
    (1, 9): SamplerMessage("sample_l", "16", "u v r lod", 8),
    (1, 2): SamplerMessage("sample_l", "4x2", "u v r lod", 1),
    (1, 6): SamplerMessage("sample_l_c", "8", "u v r lod ref", 4),
    (1, 3): SamplerMessage("sample_l_c", "4x2", "u v r lod ref", 1),
    (2, 9): SamplerMessage("sample_c", "16", "u v r ref", 8),
    (2, 7): SamplerMessage("sample_g", "8", "u v dudx dvdx dudy dvdy", 4),
    (2, 10): SamplerMessage("sample_g", "8", "u v r dudx dvdx drdx dudy dvdy drdy", 4),
    (2, 4): SamplerMessage("sample_g", "4x2", "u v r - dudx dvdx drdx - dudy dvdy drdy", 1),
    (2, 3): SamplerMessage("resinfo", "16", "lod", 8),
    (2, 2): SamplerMessage("resinfo", "4x2", "- - - lod", 1),
    (3, 3): SamplerMessage("ld", "16", "u", 8),
    (3, 5): SamplerMessage("ld", "16", "u v", 8),
    (3, 7): SamplerMessage("ld", "16", "u v r", 8),
    (3, 4): SamplerMessage("ld", "8", "u v r", 4),
    (3, 9): SamplerMessage("ld", "16", "u v r lod", 8),
    (3, 2): SamplerMessage("ld", "4x2", "u v r lod", 1),
}

MATH_LENGTHS: dict[MathFunction, tuple[int, int]] = dict.fromkeys(MathFunction, (1, 1)) | {
    MathFunction.SINCOS: (1, 2), MathFunction.POW: (2, 1), MathFunction.INT_DIV_BOTH: (2, 2),
    MathFunction.INT_DIV_QUOTIENT: (2, 1), MathFunction.INT_DIV_REMAINDER: (2, 1),
}

# Registers of data; a dual block or scattered message has registers of offsets, too.
OWORD_BLOCK_REGISTERS = {
    OwordBlockSize.OWORDS_1_LOW: 1, OwordBlockSize.OWORDS_1_HIGH: 1, OwordBlockSize.OWORDS_2: 1,
    OwordBlockSize.OWORDS_4: 2, OwordBlockSize.OWORDS_8: 4,
}
OWORD_DUAL_BLOCK_REGISTERS = {OwordDualBlockSize.OWORDS_1: 1, OwordDualBlockSize.OWORDS_4: 4}
DWORD_SCATTERED_REGISTERS = {DwordScatteredSize.DWORDS_8: 1, DwordScatteredSize.DWORDS_16: 2}


@dataclass(frozen=True, slots=True)
class RenderTargetWriteShape:
    """The registers of a render target write after the two of its header."""

    color_registers: int
    depth_registers: int  # of the source depth, and again of the destination's
    may_have_more: bool  # stencil or antialias alpha, and depth

    def message_length(self, *, stencil_or_alpha: bool = False, source_depth: bool = False,
                       destination_depth: bool = False) -> int:
        """The length with the registers that R1.6 announces."""
        depths = int(source_depth) + int(destination_depth)
        return 2 + int(stencil_or_alpha) + self.color_registers + depths * self.depth_registers


RENDER_TARGET_WRITE_SHAPES: dict[RenderTargetWriteType, RenderTargetWriteShape] = {
    RenderTargetWriteType.SIMD16: RenderTargetWriteShape(8, 2, True),
    RenderTargetWriteType.SIMD16_REPLICATED: RenderTargetWriteShape(1, 0, False),
    RenderTargetWriteType.SIMD8_DUAL_SOURCE_SUBSPANS_01: RenderTargetWriteShape(8, 1, True),
    RenderTargetWriteType.SIMD8_DUAL_SOURCE_SUBSPANS_23: RenderTargetWriteShape(8, 1, True),
    RenderTargetWriteType.SIMD8_SUBSPANS_01: RenderTargetWriteShape(4, 1, True),
}

Lengths = tuple[int | None, int | None]  # of message and response; None: the descriptor does not say
_ANY: Lengths = (None, None)


def message_for(descriptor: int, gen: Gen) -> Message | None:
    """The layout of a descriptor, or None if no unit listens to its SFID."""
    return catalogue_of(gen).message(descriptor >> 24 & 0xF)


def sampler_message(descriptor: int, gen: Gen) -> SamplerMessage | None:
    """The message that a descriptor selects, or None if it is invalid."""
    message = message_for(descriptor, gen)
    if message is None or message.sfid != SharedFunction.SAMPLER:
        return None
    view = message.view((descriptor,), gen=gen)
    return SAMPLER_MESSAGES.get((view.message_type, view.message_length))


def expected_lengths(descriptor: int, gen: Gen) -> Lengths:
    """The lengths that a message must have by its other bits.  Sampler responses depend on the channel mask."""
    message = message_for(descriptor, gen)
    if message is None:
        return _ANY
    view = message.view((descriptor,), gen=gen)
    match message.sfid:
        case SharedFunction.EXTENDED_MATH:
            return MATH_LENGTHS.get(view.math_function, _ANY)
        case SharedFunction.MESSAGE_GATEWAY:
            known = isinstance(view.gateway_function, GatewayFunction)
            return (1, int(view.acknowledge)) if known else _ANY
        case SharedFunction.DATA_PORT_READ:
            return _read_lengths(view)
        case SharedFunction.DATA_PORT_WRITE:
            return _write_length(view), int(view.send_write_commit_message)
        case SharedFunction.URB:
            return None, int(view.allocate)
        case SharedFunction.THREAD_SPAWNER:
            return 1, 0
        case _:
            return _ANY


def _data_registers(view: View) -> tuple[int, int] | None:
    """Registers of offsets and of data, of a block message whose size is in the descriptor."""
    for f, raw in view.fields():
        size = f.decode(raw)
        match f.name:
            case "oword_block_size" if size in OWORD_BLOCK_REGISTERS:
                return 0, OWORD_BLOCK_REGISTERS[size]
            case "oword_dual_block_size" if size in OWORD_DUAL_BLOCK_REGISTERS:
                return 1, OWORD_DUAL_BLOCK_REGISTERS[size]
            case "dword_scattered_block_size" if size in DWORD_SCATTERED_REGISTERS:
                return DWORD_SCATTERED_REGISTERS[size], DWORD_SCATTERED_REGISTERS[size]
    return None


def _read_lengths(view: View) -> Lengths:
    registers = _data_registers(view)
    if registers is not None:
        return 1 + registers[0], registers[1]
    is_media = any(f.name == "vertical_line_stride_override" for f, _ in view.fields())
    return (1, None) if is_media else _ANY


def _write_length(view: View) -> int | None:
    registers = _data_registers(view)
    if registers is not None:
        return 1 + sum(registers)
    return 1 if view.message_type == DataPortWriteTypeGen4.FLUSH_RENDER_CACHE else None
