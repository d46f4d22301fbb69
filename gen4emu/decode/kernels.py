"""Kernels that state blocks start: their end, the surfaces that their messages use, and their text.

Kernels are distinguished by their bytes, since the same code lies at many addresses.  Instructions themselves are the
business of `gen4emu.isa`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gen4emu.decode.context import Use
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import KernelCode
from gen4emu.decode.resources import Kind, ResourceOf
from gen4emu.hw.gen import Gen
from gen4emu.isa import Instruction, Line, disassemble, instructions, kernel_length
from gen4emu.isa.disassembler import MAX_KERNEL_BYTES
from gen4emu.isa.instruction import is_ip

_WINDOW = 1 << 18  # bytes that are read of a kernel at first; more if it does not end there
_BUDGET = 1 << 16  # bytes of kernels examined, plus a multiple of the size of memory: hostile pointers overlap
_SCANS = 8  # the multiple of the size of memory that may be examined
_KERNELS_KEPT = 1 << 14
_LONGEST = 16  # bytes of an instruction: the one after a kernel may be what ends it


class Kernels:
    """The kernels of one decoder."""

    def __init__(self, gen: Gen, resource_of: ResourceOf) -> None:
        self.gen = gen
        self._resource_of = resource_of
        self.by_code: dict[bytes, KernelCode] = {}
        self._at: dict[int, KernelCode | None] = {}
        self._before: dict[int, tuple[int, bytes, KernelCode]] = {}  # by address: what was there when it was last read
        self._uses: dict[int, Use] = {}
        self._count = 0
        self._known: dict[bytes, int] = {}  # numbers of kernels before the place at which decoding began
        self._scan = self._new = _BUDGET

    def new_submission(self, memory_bytes: int) -> None:
        self._scan, self._new = _BUDGET + _SCANS * memory_bytes, _BUDGET + memory_bytes

    @property
    def count(self) -> int:
        """The number of kernels so far."""
        return self._count

    @property
    def exhausted(self) -> bool:
        """Whether no more code will be looked at in this submission."""
        return self._scan <= 0 or self._new <= 0

    def know(self, codes: Sequence[bytes]) -> None:
        """Kernels that were seen before: they have these numbers, from 1."""
        self._known = {code: number for number, code in enumerate(codes, 1)}
        self._count = len(codes)

    def forget(self) -> None:
        """Memory was written: drop cached kernels by address."""
        self._at.clear()

    def at(self, peek: MemoryReader, address: int) -> KernelCode | None:
        """The kernel at an address; None if memory has no contents there."""
        if address in self._at:
            return self._at[address]
        if self.exhausted:
            return None
        was_long = self._before.get(address, (0,))[0] > _WINDOW
        data = peek.available(address, MAX_KERNEL_BYTES if was_long else _WINDOW)
        found = self._unchanged(address, data)
        if found is None and len(data) >= 8:
            length = kernel_length(data, self.gen)
            if length == _WINDOW:
                self._scan -= length
                data = peek.available(address, MAX_KERNEL_BYTES)
                length = kernel_length(data, self.gen)
            found = self._code(data[:length])
        self._at[address] = found
        if found is not None:
            if len(self._before) >= _KERNELS_KEPT:
                self._before.clear()
            self._before[address] = len(data), data[:len(found.code) + _LONGEST], found
        return found

    def _unchanged(self, address: int, data: bytes) -> KernelCode | None:
        """The kernel that was at an address before, if all bytes that decided on it are still the same."""
        size, start, found = self._before.get(address, (-1, b"", None))
        if found is None or size != len(data) or not data.startswith(start):
            return None
        self._scan -= len(found.code)
        return found

    def _code(self, code: bytes) -> KernelCode:
        length = len(code)
        self._scan -= length
        found = self.by_code.get(code)
        if found is None:
            if len(self.by_code) >= _KERNELS_KEPT:
                self.by_code.clear()
                self._before.clear()
                self._uses.clear()
            number = self._known.get(code, 0)
            if not number:
                self._count += 1
                number = self._count
            self._new -= length
            lines = tuple(disassemble(code, self.gen, end=length))
            complete = bool(lines) and lines[-1].inst is not None and _leaves(lines[-1].inst)
            found = KernelCode(number, code, tuple(_text(line) for line in lines), len(lines), complete)
            self.by_code[code] = found
        return found

    def use(self, kernel: KernelCode) -> Use:
        """The surfaces and samplers that the messages of a kernel use."""
        found = self._uses.get(kernel.number)
        if found is None:
            found = self._uses[kernel.number] = use_of(kernel.code, self.gen, self._resource_of)
        return found


def _leaves(inst: Instruction) -> bool:
    """Whether execution never falls through: the thread ends, or a subroutine returns."""
    return inst.eot or is_ip(inst.dst)


def _text(line: Line) -> str:
    """Statement and comment after the offset; a label stands on a line of its own."""
    label = f"{line.label}:\n" if line.label else ""
    return f"{label}{line.offset:04x}  {line.text}{f'  // {line.comment}' if line.comment else ''}"


def sends(code: bytes, gen: Gen) -> list[tuple[int, Instruction]]:
    """The `send` instructions of a kernel, each with its offset."""
    return [(offset, inst) for offset, inst in instructions(code, gen) if inst.is_send]


def use_of(code: bytes, gen: Gen, resource_of: ResourceOf) -> Use:
    """The binding table entries and samplers that the immediate descriptors of a kernel name."""
    found: dict[Kind, set[int]] = {kind: set() for kind in Kind}
    samplers: set[int] = set()
    media: set[tuple[int, str, int]] = set()
    dynamic = False
    for _, send in sends(code, gen):
        descriptor = send.descriptor
        if descriptor is None:
            dynamic = True
            continue
        resource = resource_of(descriptor, gen)
        if resource is None:
            continue
        found[resource.kind].add(resource.index)
        if resource.media_state and resource.sampler is not None:
            media.add((resource.index, resource.media_state, resource.sampler))
        elif resource.sampler is not None:
            samplers.add(resource.sampler)
    return Use(frozenset().union(*found.values()), frozenset(samplers), frozenset(found[Kind.TARGET]),
               frozenset(found[Kind.TEXTURE]), frozenset(index for index, _, _ in media),
               frozenset((state, sampler) for _, state, sampler in media), dynamic)
