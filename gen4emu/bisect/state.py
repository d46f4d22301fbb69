"""The differences between the state that two draws execute with, field by field, and the memory that it points to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from gen4emu.api.trace import Draw
from gen4emu.bisect.digests import surface_bytes
from gen4emu.decode.in_force import StateInForce
from gen4emu.decode.nodes import Body, Command, Data, Kernel, Node, State
from gen4emu.device.memory import Memory, Missing
from gen4emu.device.targets import TargetFinder
from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import surface_state_of
from gen4emu.hw.fields import Address, Const, Field, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.image.digest import Blake3
from gen4emu.isa import disassemble

_MOST_BYTES = 64 << 20  # of vertices, indices or constants that are compared


class Cause(Enum):
    """The kind of a difference; the value is its name in results."""

    CODE = "code"
    CONSTANT = "constant"
    ATTRIBUTE = "attribute"
    TEXEL = "texel"
    STATE = "state field"
    ROUNDING = "rounding"
    OPTION = "option"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a difference."""

    value: str
    address: int  # of the dword, the instruction or the first byte
    set_by: str  # the command that leads to it


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the inputs of two draws."""

    cause: Cause
    what: str  # "SAMPLER_STATE[0] of ps, min_mag_mip_filter (dword 0, bits 19:17)"
    left: Side | None  # None: only the other side has it
    right: Side | None

    def __str__(self) -> str:
        values = [f"{'nothing' if side is None else side.value} {name}"
                  for name, side in (("left", self.left), ("right", self.right))]
        places = dict.fromkeys(f"at 0x{side.address:08x}, {side.set_by}" for side in (self.left, self.right)
                               if side is not None)
        return f"{self.what} is {' and '.join(values)} ({'; '.join(places)})"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "cause": self.cause.value}


@dataclass(frozen=True, slots=True)
class _Item:
    node: Node
    set_by: str


def differences(left: Draw, right: Draw, states: tuple[StateInForce, StateInForce]) -> list[Difference]:
    """Everything that differs, in the order of the pipeline; addresses do not count, but what lies there does."""
    sides = _items(states[0]), _items(states[1])
    found: list[Difference] = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        pair = sides[0].get(key), sides[1].get(key)
        if pair[0] is None or pair[1] is None:
            found.append(Difference(Cause.STATE, _name(key), *(
                None if item is None else Side("present", item.node.address, item.set_by) for item in pair)))
        else:
            found += _compare(key, pair[0], pair[1], left, right)
    return found


_Key = tuple[str, str, str, int]  # the kind of node, its name, its role, and which of those with the same three


def _items(state: StateInForce) -> dict[_Key, _Item]:
    """All nodes by their place in the state."""
    found: dict[_Key, _Item] = {}
    count: Counter[tuple[str, str, str]] = Counter()
    for command, when in [*((s.command, str(s)) for s in state.settings), (state.draw, "")]:
        at = f"{command.title} at 0x{command.address:08x}{f' ({when})' if when else ''}"
        for node in command.walk():
            if isinstance(node, State) and node.same:
                continue
            name = "KERNEL" if isinstance(node, Kernel) else node.title
            start = node.kind, name, node.role
            found[*start, count[start]] = _Item(node, at)
            count[start] += 1
    return found


def _name(key: _Key) -> str:
    _, name, role, number = key
    return f"{name}{f' {number}' if number else ''}{f' of {role}' if role else ''}"


def _compare(key: _Key, left: _Item, right: _Item, left_draw: Draw, right_draw: Draw) -> Iterator[Difference]:
    nodes = left.node, right.node
    if isinstance(nodes[0], Kernel) and isinstance(nodes[1], Kernel):
        yield from _code(key, left, right, left_draw.device.info.gen, right_draw.device.info.gen)
    elif isinstance(nodes[0], Data) and isinstance(nodes[1], Data):
        yield from _data(key, left, right, left_draw.memory, right_draw.memory)
    elif isinstance(nodes[0], (State, Command)) and isinstance(nodes[1], (State, Command)):
        yield from _fields(key, left, right)
        if nodes[0].title == surface_state_of(nodes[0].body.gen).name and "render target" not in nodes[0].role:
            yield from _texels(key, left, right, left_draw, right_draw)


# --- fields -----------------------------------------------------------------------------------------------------------
_Value = tuple[Field, int, int]  # a field, its raw bits, and the dword in which its block begins


def _fields(key: _Key, left: _Item, right: _Item) -> Iterator[Difference]:
    bodies = [item.node.body for item in (left, right) if isinstance(item.node, (State, Command))]
    if bodies[0].words == bodies[1].words and bodies[0].gen == bodies[1].gen:
        return
    values = _values(bodies[0]), _values(bodies[1])
    if not values[0] and not values[1]:
        yield Difference(Cause.STATE, _name(key), *(
            Side(" ".join(f"{word:08x}" for word in body.words), item.node.address, item.set_by)
            for body, item in zip(bodies, (left, right), strict=True)))
    for name in dict.fromkeys([*values[0], *values[1]]):
        pair = values[0].get(name), values[1].get(name)
        fields = [value[0] for value in pair if value is not None]
        if any(isinstance(f, (Address, Mbz, Const)) or f.name == "dword_length" for f in fields):
            continue
        texts = [None if value is None else value[0].text(value[1]) for value in pair]
        if texts[0] == texts[1]:
            continue
        field, _, first = next(value for value in pair if value is not None)
        bits = f"bit {field.lo}" if field.width == 1 else f"bits {field.hi}:{field.lo}"
        yield Difference(Cause.STATE, f"{_name(key)}, {name} (dword {first + field.dword}, {bits})", *(
            None if value is None or text is None else
            Side(text, item.node.address + 4 * (value[2] + value[0].dword), item.set_by)
            for value, text, item in zip(pair, texts, (left, right), strict=True)))


def _values(body: Body) -> dict[str, _Value]:
    """The fields of a block, and those of its arrays as `array[0].field`."""
    if body.layout is None:
        return {}
    view = body.view
    found: dict[str, _Value] = {field.name: (field, raw, 0) for field, raw in view.fields()}
    for array in body.layout.arrays_for(body.gen):
        for number, item in enumerate(view.array(array)):
            first = array.dword + number * array.item.size(body.gen)
            found |= {f"{array.name}[{number}].{field.name}": (field, raw, first) for field, raw in item.fields()}
    return found


# --- code -------------------------------------------------------------------------------------------------------------
def _code(key: _Key, left: _Item, right: _Item, left_gen: Gen, right_gen: Gen) -> Iterator[Difference]:
    nodes = left.node, right.node
    assert isinstance(nodes[0], Kernel) and isinstance(nodes[1], Kernel)
    codes = nodes[0].code.code, nodes[1].code.code
    if codes[0] == codes[1]:
        return
    lines = [list(disassemble(code, gen, base=0)) for code, gen in zip(codes, (left_gen, right_gen), strict=True)]
    number = next((n for n, (a, b) in enumerate(zip(*lines, strict=False)) if a.data != b.data),
                  min(len(lines[0]), len(lines[1])))
    sides = []
    for item, listing in zip((left, right), lines, strict=True):
        line = listing[number] if number < len(listing) else None
        sides.append(None if line is None else Side(line.text, item.node.address + line.offset, item.set_by))
    yield Difference(Cause.CODE, f"instruction {number} of the {_name(key)}", *sides)


# --- memory -----------------------------------------------------------------------------------------------------------
def _data(key: _Key, left: _Item, right: _Item, left_memory: Memory, right_memory: Memory) -> Iterator[Difference]:
    nodes = left.node, right.node
    assert isinstance(nodes[0], Data) and isinstance(nodes[1], Data)
    cause = Cause.CONSTANT if "CONST" in nodes[0].name else Cause.ATTRIBUTE
    data = [_read(left_memory, nodes[0]), _read(right_memory, nodes[1])]
    if data[0] == data[1]:
        return
    at = next((i for i, (a, b) in enumerate(zip(*data, strict=False)) if a != b), min(len(data[0]), len(data[1])))
    at &= ~3
    sides = (Side(f"0x{int.from_bytes(bytes_[at:at + 4], 'little'):08x}" if at < len(bytes_) else "missing",
                  item.node.address + at, item.set_by) for bytes_, item in zip(data, (left, right), strict=True))
    yield Difference(cause, f"byte {at} of {_name(key)}", *sides)


def _read(memory: Memory, node: Data) -> bytes:
    size = min(node.length, _MOST_BYTES, memory.size - min(node.address, memory.size))
    return memory.read(node.address, size, Missing.ZERO) if size > 0 else b""


def _texels(key: _Key, left: _Item, right: _Item, left_draw: Draw, right_draw: Draw) -> Iterator[Difference]:
    """The first image of a surface that differs: a level of an element of it."""
    sides = [_images(item.node, draw) for item, draw in ((left, left_draw), (right, right_draw))]
    for name in sides[0]:
        pair = sides[0][name], sides[1].get(name)
        if pair[1] is not None and pair[0] != pair[1]:
            yield Difference(Cause.TEXEL, f"{name} of the surface of {_name(key)}", *(
                Side(f"digest {digest}", base, item.set_by)
                for (digest, base), item in zip((pair[0], pair[1]), (left, right), strict=True)))
            return


def _images(node: Node, draw: Draw) -> dict[str, tuple[str, int]]:
    assert isinstance(node, State)
    found: dict[str, tuple[str, int]] = {}
    for target in TargetFinder(draw.device.info.gen).images(tuple(node.body.words)):
        try:
            digest = Blake3(surface_bytes(draw.memory, target)).hexdigest()
        except FieldError:
            continue
        found[f"level {target.level}, element {target.slice}"] = digest, target.address
    return found
