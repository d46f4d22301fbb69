"""Commands that the C core executes by itself: those that only store into the state of a context, draws and blits.

A command is a list of steps (native/api/streamer.h), with the positions that `gen4emu.hw` gives its fields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.hw.command_reader import Words
from gen4emu.hw.fields import Field

NO_PLACE = int(lib.G4_NO_PLACE)

Step = dict[str, int]


def place(*member: str) -> int:
    """The index of a member of `struct g4_state` in its dwords."""
    return int(ffi.offsetof("struct g4_state", *member)) // 4


def _step(kind: int, **values: int) -> Step:
    return {"kind": kind, "base": NO_PLACE, "tally": NO_PLACE} | values


def store_bits(field: Field, target: int, base: int = NO_PLACE, when: Field | None = None) -> Step:
    """Store the bits of a field at their place, plus the dword at `base`: a pointer relative to that address.

    With `when`, only if that field is not zero.
    """
    condition = {} if when is None else {"condition_dword": when.dword, "condition": when.mask_in(when.dword)}
    return _step(lib.G4_STEP_FIELD, dword=field.dword, mask=field.mask_in(field.dword), target=target, base=base,
                 **condition)


def store_number(field: Field, target: int, when: Field | None = None) -> Step:
    """Store the value of a field, which is a number."""
    return store_bits(field, target, when=when) | {"shift": field.lo, "addend": field.decode(0)}


def clear(target: int) -> Step:
    """Store 0."""
    return _step(lib.G4_STEP_FIELD, target=target)


def flag(field: Field, target: int) -> Step:
    """Store whether a field is not zero."""
    return _step(lib.G4_STEP_FLAG, dword=field.dword, mask=field.mask_in(field.dword), target=target)


def copy(target: int, dwords: int) -> Step:
    """Keep the command whole, header included; dwords that it lacks are 0."""
    return _step(lib.G4_STEP_COPY, target=target, count=dwords)


def vertex_buffers(index: Field, target: int, count: int, valid: int = NO_PLACE, modify: Field | None = None, *,
                   sizes: bool = False) -> Step:
    """Keep vertex buffers by their indices.

    Those without `modify` keep their addresses; with `sizes`, also their last dwords.
    """
    return _step(lib.G4_STEP_VERTEX_BUFFERS, dword=1, mask=index.mask_in(0), shift=index.lo, target=target, count=count,
                 tally=valid, condition=0 if modify is None else modify.mask_in(0), addend=int(sizes))


def slot(number: Field, target: int, slots: int, dwords: int) -> Step:
    """Keep dwords, from that of the field `number` on, in the slot which it names."""
    return _step(lib.G4_STEP_SLOT, dword=number.dword, mask=number.mask_in(number.dword), shift=number.lo,
                 target=target, addend=slots, count=dwords)


def vertex_elements(target: int, count: int, number: int) -> Step:
    """Keep the vertex elements, and how many they are."""
    return _step(lib.G4_STEP_VERTEX_ELEMENTS, dword=1, target=target, count=count, tally=number)


def constants(valid: Field, start: Field, length: Field, target: int, rows: int, capacity: int, base: int) -> Step:
    """Copy constants from memory, as CONSTANT_BUFFER does."""
    return _step(lib.G4_STEP_CONSTANTS, dword=start.dword, mask=start.mask_in(start.dword),
                 addend=length.mask_in(start.dword), condition_dword=valid.dword,
                 condition=valid.mask_in(valid.dword), target=target, tally=rows, count=capacity, base=base)


def write_immediate(address: Field, mask: int, data: int, condition_dword: int, condition: int) -> Step:
    """Write two dwords, from index `data` of the command on, if one of the bits of `condition` is set."""
    return _step(lib.G4_STEP_WRITE, dword=address.dword, mask=mask, count=data, condition_dword=condition_dword,
                 condition=condition)


def write_immediate_48(address: Field, mask: int, data: int, condition_dword: int, condition: int) -> Step:
    """A step for an address of 48 bits, of which `mask` has the low ones; else like the one above."""
    return write_immediate(address, mask, data, condition_dword, condition) | {"kind": lib.G4_STEP_WRITE_64}


def load_registers(register: Field, address: Field, first: int, target: int, registers: int) -> Step:
    """Load a register from memory if it is one of the `registers` from offset `first` on, which the state holds.

    Other loads are left to Python.
    """
    kind = lib.G4_STEP_LOAD if address.hi < 32 else lib.G4_STEP_LOAD_64
    return _step(kind, dword=register.dword, mask=register.mask_in(register.dword), addend=first,
                 condition_dword=address.dword, condition=address.mask << address.lo & 0xFFFFFFFF, target=target,
                 count=registers)


def draw() -> Step:
    """Draw: the command is a 3DPRIMITIVE."""
    return _step(lib.G4_STEP_DRAW)


def fill() -> Step:
    """Fill a rectangle: the command is an XY_COLOR_BLT."""
    return _step(lib.G4_STEP_FILL)


def copy_blit() -> Step:
    """Copy a rectangle: the command is an XY_SRC_COPY_BLT."""
    return _step(lib.G4_STEP_COPY_BLIT)


def leave_if(dword: int, mask: int) -> Step:
    """Leave commands to Python that have one of these bits."""
    return _step(lib.G4_STEP_LEAVE_IF, dword=dword, mask=mask)


def move(source: int, target: int, dwords: int) -> Step:
    """Copy dwords of the state to another place in it."""
    return _step(lib.G4_STEP_MOVE, base=source, target=target, count=dwords)


def leave_in(member: int) -> Step:
    """Leave the command to Python while a dword of the state is not 0."""
    return _step(lib.G4_STEP_LEAVE_IN, base=member)


def leave_if_zero(dword: int, mask: int = 0xFFFFFFFF) -> Step:
    """Leave commands to Python that have none of these bits."""
    return _step(lib.G4_STEP_LEAVE_IF_0, dword=dword, mask=mask)


class StoredCommand:
    """The handler of a command that the core executes.  It is part of a run of commands, too (`StoredCommands.run`)."""

    __slots__ = ("_fallback", "_owner", "alone", "draws", "number")

    def __init__(self, owner: StoredCommands, number: int, fallback: Callable[[Words], None] | None, *,
                 draws: bool) -> None:
        self._owner, self.number, self._fallback, self.draws = owner, number, fallback, draws
        # The handler outside of runs.  There, the core leaves every draw to Python, so it need not be called.
        self.alone: Callable[[Words], None] = fallback if draws and fallback is not None else self

    def __call__(self, words: Words) -> None:
        done = self._owner.execute_one(self.number, words)
        if not done and self._fallback is not None:
            self._fallback(words)


class StoredCommands:
    """The commands of one `struct g4_state` that the core executes."""

    __slots__ = ("_blitter", "_native", "_owners", "_window", "rewritten", "run")

    def __init__(self, state: Any, port: Any) -> None:
        native = lib.g4_streamer_new(state, port)
        if native == ffi.NULL:
            raise MemoryError("not enough memory for a command streamer")
        self._native = ffi.gc(native, lib.g4_streamer_free)
        self._owners = state, port  # which the core uses
        self._window: Any = ffi.NULL
        self.run = ffi.new("struct g4_streamer_run *")  # the results of `execute`
        self.rewritten: Callable[[], None] = lambda: None  # called after a command that has changed watched ones

    def add(self, *steps: Step, fallback: Callable[[Words], None] | None = None) -> StoredCommand:
        """A command of these steps.  `fallback` executes it when a step leaves it to Python."""
        number = lib.g4_streamer_add(self._native, ffi.new("struct g4_step[]", list(steps)), len(steps))
        if number == 0:
            raise MemoryError("not enough memory for a command")
        return StoredCommand(self, number, fallback, draws=draw() in steps)

    def use_blitter(self, blitter: Any) -> None:
        """Execute blits with this `struct g4_blitter`."""
        self._blitter = blitter  # which the core uses
        lib.g4_streamer_use_blitter(self._native, blitter)

    def set_constants_absolute(self, absolute: bool) -> None:
        lib.g4_streamer_constants_absolute(self._native, absolute)

    def learn(self, header: int, command: StoredCommand, dwords: int) -> None:
        """Make a header known to `execute`."""
        lib.g4_streamer_learn(self._native, header, command.number, dwords)

    def forget(self) -> None:
        """Forget all headers."""
        lib.g4_streamer_forget(self._native)

    def fetch(self, address: int, dwords: int) -> Words | None:
        """Read commands from memory for `execute`, as `use_window` does with them; None: not all pages are there."""
        data = bytearray(4 * dwords)
        window = ffi.from_buffer("uint32_t[]", data)
        if not lib.g4_streamer_fetch(self._native, address, window, dwords):
            return None
        self._window = window
        return memoryview(data).cast("I")

    def use_window(self, address: int, words: Words) -> None:
        """Let `execute` execute these commands, a whole memoryview, and end when one of them changes them in memory,
        where they are at `address`."""
        # The pointer is into the object below: a pointer into the view would keep that from being collected.
        self._window = ffi.from_buffer("uint32_t[]", words.obj)
        lib.g4_streamer_watch(self._native, address, len(words))

    def execute(self, at: int, end: int, device: Any, fault: Any) -> int:
        """Execute known commands between two indices of the window, and return the index after them.

        Draws and blits are executed by `device`, unless that is NULL.  `run` has the numbers.
        """
        at = int(lib.g4_streamer_run(self._native, self._window, at, end, device, fault, self.run))
        if self.run.rewritten:
            self.rewritten()
        return at

    def execute_one(self, number: int, words: Words) -> bool:
        """Execute a command, and return whether no step has left it to Python."""
        done = lib.g4_streamer_execute(self._native, number, ffi.from_buffer("uint32_t[]", words), len(words))
        if done == lib.G4_STREAMER_REWRITTEN:
            self.rewritten()
        return bool(done)

