"""Live registers of a kernel: those whose contents may be read again, before each instruction.

Each byte is analysed by itself.  A write without predicate ends the life of the old value, as if all channels were
enabled: a channel that an instruction does not enable is elsewhere in the kernel.  Instructions after a branch are
executed by the channels that do not jump, so a branch leads there as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gen4emu.core_enums import GRF_COUNT
from gen4emu.hw.gen import Gen
from gen4emu.isa.disassembler import instructions
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DestRegion,
    DirectOperand,
    IndirectOperand,
    Instruction,
    MessageRegion,
    TernaryRegion,
    is_ip,
)
from gen4emu.isa.opcodes import Opcode, Shape
from gen4emu.isa.registers import (
    HSTRIDES,
    REGISTER_BYTES,
    TYPE_BYTES,
    VSTRIDE_INDEXED,
    VSTRIDES,
    WIDTHS,
    WRITEMASK_XYZW,
    RegFile,
)

_ALL = (1 << REGISTER_BYTES * GRF_COUNT) - 1
_MOST_LENGTH = 15  # of a message
_GROUP_BYTES = 16  # of Align16, and of a plane
_CALLS = frozenset({"call", "calla", "ret", "brd", "brc", "jmpi"})


class _Unknown(Exception):
    """Any register may be read, or channels may continue anywhere."""


@dataclass(slots=True)
class _Node:
    reads: int  # bit n: byte n of the register file
    ends: int  # the life of these bytes
    next: tuple[int, ...]  # offsets


def live_registers(code: bytes, gen: Gen) -> dict[int, int] | None:
    """The number of registers with bytes that may be read again, by the offset of the instruction that follows.

    Instructions that are not reached from the first one are missing.  None: unknown, because any register may be read,
    or channels may continue anywhere.
    """
    try:
        nodes = _reached({offset: _node(inst, offset, gen) for offset, inst in instructions(code, gen)})
    except _Unknown:
        return None
    live = dict.fromkeys(nodes, 0)
    order = sorted(nodes, reverse=True)
    changed = True
    while changed:  # sets only grow
        changed = False
        for offset in order:
            node = nodes[offset]
            after = 0
            for following in node.next:
                after |= live[following]
            before = after & ~node.ends | node.reads
            changed |= before != live[offset]
            live[offset] = before
    return {offset: _registers(live[offset]) for offset in sorted(nodes)}


def _registers(live: int) -> int:
    data = live.to_bytes(REGISTER_BYTES * GRF_COUNT // 8, "little")
    size = REGISTER_BYTES // 8
    return sum(any(data[at:at + size]) for at in range(0, len(data), size))


def _reached(nodes: dict[int, _Node]) -> dict[int, _Node]:
    found: dict[int, _Node] = {}
    left = [min(nodes)] if nodes else []
    while left:
        offset = left.pop()
        if offset in found:
            continue
        if offset not in nodes:
            raise _Unknown
        found[offset] = nodes[offset]
        left += nodes[offset].next
    return found


def _node(inst: Instruction, offset: int, gen: Gen) -> _Node:
    info = inst.info
    if info is None:
        return _Node(0, 0, ())
    following = () if inst.eot else _following(inst, offset)
    if inst.is_send:
        return _Node(*_message(inst, gen), following)
    reads = 0
    for number, operand in enumerate((inst.src0, inst.src1, inst.src2)):
        reads |= _source(inst, operand, number)
    return _Node(reads, _result(inst), following)


def _following(inst: Instruction, offset: int) -> tuple[int, ...]:
    info = inst.info
    assert info is not None
    targets = inst.branch_targets(offset)
    if (info.name in _CALLS or is_ip(inst.dst)) and not targets:
        raise _Unknown
    if not inst.predicate and (info.shape is Shape.JUMP or is_ip(inst.dst)):
        return targets
    return (*targets, offset + inst.size)


# --- operands ---------------------------------------------------------------------------------------------------------
def _bytes(start: int, size: int) -> int:
    return ((1 << size) - 1) << start & _ALL


def _source(inst: Instruction, operand: object, number: int) -> int:
    if isinstance(operand, IndirectOperand):
        raise _Unknown
    if not isinstance(operand, DirectOperand) or operand.file is not RegFile.GRF:
        return 0
    start, size, channels = REGISTER_BYTES * operand.nr + operand.subnr, TYPE_BYTES[operand.type], inst.channels
    info = inst.info
    assert info is not None
    if info.number in (Opcode.LINE, Opcode.PLN) and number == 0:
        return _bytes(start, _GROUP_BYTES)
    if info.number == Opcode.PLN:
        return _bytes(start, 2 * size * channels)
    region = operand.region
    if isinstance(region, TernaryRegion):
        return _bytes(start, size) if region.replicate else _bytes(start, size * channels)
    if isinstance(region, Align16Region):
        return _bytes(start & -_GROUP_BYTES, _GROUP_BYTES if not region.vstride else size * channels)
    assert isinstance(region, Align1Region)
    if region.vstride == VSTRIDE_INDEXED:
        raise _Unknown
    width, vstride, hstride = WIDTHS.get(region.width, 1), VSTRIDES.get(region.vstride, 0), HSTRIDES[region.hstride]
    found = 0
    for channel in range(channels):
        row, column = divmod(channel, width)
        found |= _bytes(start + size * (row * vstride + column * hstride), size)
    return found


def _result(inst: Instruction) -> int:
    """The bytes that an instruction overwrites in any case."""
    operand, info = inst.dst, inst.info
    assert info is not None
    if not isinstance(operand, DirectOperand) or operand.file is not RegFile.GRF or \
            (inst.predicate and info.number != Opcode.SEL):
        return 0
    start, size = REGISTER_BYTES * operand.nr + operand.subnr, TYPE_BYTES[operand.type]
    region = operand.region
    stride, mask = 1, None
    if isinstance(region, DestRegion):
        stride, mask = max(1, HSTRIDES[region.hstride]), region.writemask
    found = 0
    for channel in range(inst.channels):
        if mask is None or mask & WRITEMASK_XYZW & 1 << channel % 4:
            found |= _bytes(start + size * stride * channel, size)
    return found


def _message(inst: Instruction, gen: Gen) -> tuple[int, int]:
    """The registers that a message reads and overwrites.  The MRF does not count."""
    descriptor = inst.descriptor
    reads = 0
    payload = inst.src0
    length = descriptor.mlen if descriptor is not None else _MOST_LENGTH
    for start, registers in ((payload, 1 if encoding_of(gen).sends_from_mrf else length), *_second(inst)):
        if isinstance(start, IndirectOperand):
            raise _Unknown
        if isinstance(start, DirectOperand) and start.file is RegFile.GRF:
            reads |= _bytes(REGISTER_BYTES * start.nr, REGISTER_BYTES * registers)
    ends = 0
    if isinstance(inst.dst, DirectOperand) and inst.dst.file is RegFile.GRF and not inst.predicate and \
            descriptor is not None:
        ends = _bytes(REGISTER_BYTES * inst.dst.nr, REGISTER_BYTES * descriptor.rlen)
    return reads, ends


def _second(inst: Instruction) -> Iterator[tuple[object, int]]:
    """The second part of a split send's payload."""
    if isinstance(inst.src1, DirectOperand) and isinstance(inst.src1.region, MessageRegion):
        length = inst.second_length
        yield inst.src1, _MOST_LENGTH if length is None else length
