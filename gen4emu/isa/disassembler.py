"""The disassembler: bytes to lines of assembly, with labels, and where a kernel ends.

`gen4emu.isa.assembler` assembles the output to the identical bytes; words without a meaning become `.dword`.  Any
bytes are accepted.  Text is cached by the bytes of an instruction, because kernels have many instructions in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gen4emu.hw.gen import Gen
from gen4emu.isa import printer
from gen4emu.isa.codec import decode_word
from gen4emu.isa.compaction import is_compacted
from gen4emu.isa.instruction import Instruction
from gen4emu.isa.opcodes import Opcode

# Programs of drivers have a few thousand instructions; this limits a walk over other data.
MAX_KERNEL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction, or bytes that are not one."""

    offset: int  # from the start of the code
    address: int  # offset + base
    data: bytes
    inst: Instruction | None  # None: not enough bytes for an instruction
    text: str  # the statement
    label: str = ""  # of this instruction, if it is a jump target
    comment: str = ""

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def compacted(self) -> bool:
        return self.inst is not None and self.inst.compacted

    def render(self, *, offsets: bool = True, hexadecimal: bool = False) -> str:
        """The line of a listing.  Addresses and bytes are comments, so listings assemble."""
        prefix = f"{self.label}:\n" if self.label else ""
        notes = [f"{self.address:08x}"] if offsets else []
        if hexadecimal:
            notes.append(self.data.hex(" ").ljust(47))
        if notes:
            prefix += f"/* {' '.join(notes)} */ "
        return f"{prefix}{self.text}{f'  // {self.comment}' if self.comment else ''}"


def disassemble(code: bytes, gen: Gen, *, base: int = 0, start: int = 0, end: int | None = None,
                labels: bool = True) -> Iterator[Line]:
    """Disassemble `code[start:end]`; without `end`, the kernel that starts there (`kernel_length`)."""
    if end is None:
        end = start + kernel_length(code, gen, start)
    end = min(end, len(code))
    names = _targets(code, gen, base, start, end) if labels else {}
    offset, part = start, int(gen)
    while offset < end:
        data = _fetch(code, offset, end)
        inst, distances = _decoded(data, part) if data else (None, ())
        label = names.get(offset, "")
        if inst is None:
            rest = code[offset:end]
            yield Line(offset, base + offset, rest, None, printer.raw_statement(rest), label, "not a whole instruction")
            return
        text: str | None
        targets = [names.get(offset + distance) for distance in distances] if distances else None
        if targets is None or not any(targets):
            text, comment = _text(data, part)
        elif inst.opcode != Opcode.ADD:
            text, comment = printer.statement(inst, targets), ""
        else:
            text, comment = _text(data, part)[0], f"to {targets[0]}"
        yield Line(offset, base + offset, data, inst, text or printer.raw_statement(data), label, comment)
        offset += len(data)


def instructions(code: bytes, gen: Gen, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Instruction]]:
    """Offsets and instructions, without text, as long as they are complete."""
    for offset, inst, _ in _walk(code, gen, start, len(code) if end is None else min(end, len(code))):
        yield offset, inst


def kernel_length(code: bytes, gen: Gen, start: int = 0) -> int:
    """Bytes of the kernel at `start`: up to an end of thread that no forward branch jumps over.

    Without one: up to an opcode that is zero or that the device does not have, or to the end of the bytes.
    """
    end = min(len(code), start + MAX_KERNEL_BYTES)
    furthest = start
    for offset, inst, distances in _walk(code, gen, start, end):
        if inst.info is None or inst.opcode == Opcode.ILLEGAL:
            return offset - start
        after = offset + inst.size
        if inst.eot and after > furthest:
            return after - start
        for distance in distances:
            if offset + distance < end:
                furthest = max(furthest, offset + distance + 1)
    return end - start


def listing(code: bytes, gen: Gen, *, base: int = 0, start: int = 0, end: int | None = None, offsets: bool = True,
            hexadecimal: bool = False, labels: bool = True) -> str:
    """The disassembly as one text."""
    lines = disassemble(code, gen, base=base, start=start, end=end, labels=labels)
    return "".join(f"{line.render(offsets=offsets, hexadecimal=hexadecimal)}\n" for line in lines)


def clear_cache() -> None:
    """Empty the caches of decoded instructions and text."""
    _decoded.cache_clear()
    _text.cache_clear()


def _fetch(code: bytes, offset: int, end: int) -> bytes:
    """The bytes of the instruction at an offset; empty if it is cut off."""
    if offset + 8 > end:
        return b""
    size = 8 if is_compacted(int.from_bytes(code[offset:offset + 4], "little")) else 16
    return bytes(code[offset:offset + size]) if offset + size <= end else b""


def _walk(code: bytes, gen: Gen, start: int, end: int) -> Iterator[tuple[int, Instruction, tuple[int, ...]]]:
    """Offsets, instructions and jump distances, as long as instructions are complete."""
    offset, part = start, int(gen)
    while offset < end:
        data = _fetch(code, offset, end)
        if not data:
            return
        inst, distances = _decoded(data, part)
        yield offset, inst, distances
        offset += len(data)


# Keys of these caches have the device as an int: hashing a Flag member takes longer than the rest of the lookup.
@lru_cache(maxsize=1 << 16)
def _decoded(data: bytes, part: int) -> tuple[Instruction, tuple[int, ...]]:
    """The instruction and the distances of its jumps, if they are constant."""
    inst = decode_word(int.from_bytes(data, "little"), Gen(part), compacted=len(data) == 8)
    return inst, inst.branch_targets(0)


@lru_cache(maxsize=1 << 16)
def _text(data: bytes, part: int) -> tuple[str, str]:
    """Statement and comment of an instruction, with its jump count as a number."""
    inst, _ = _decoded(data, part)
    text = printer.statement(inst)
    if text is not None:
        return text, ""
    info = inst.info
    name = info.name if info else f"opcode 0x{inst.opcode:02x}"
    return printer.raw_statement(data), f"{name}, compacted in an unusual way" if inst.compact_residue else name


def _targets(code: bytes, gen: Gen, base: int, start: int, end: int) -> dict[int, str]:
    """Labels for the instructions in the range that branches jump to."""
    wanted: set[int] = set()
    starts: set[int] = set()
    for offset, _, distances in _walk(code, gen, start, end):
        starts.add(offset)
        for distance in distances:
            wanted.add(offset + distance)
    return {t: f"L_{base + t:04x}" for t in wanted & starts}
