"""State that earlier commands set and later ones need: bases, units, vertex input; and counts that no field holds.

Most of the decoder follows the layouts.  The few exceptions that depend on other state are here, in one table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from typing import Any

from gen4emu.decode.blits import TILED_IN_X, YTiled
from gen4emu.decode.nodes import Body, Command, KernelCode
from gen4emu.hw.fields import Address, Bool, Uint
from gen4emu.hw.formats import FormatInfo, format_info
from gen4emu.hw.layout import View

MAX_BINDING_TABLE = 256
MAX_SAMPLERS = 16
_PARSED_KEPT = 1 << 14
_CONTEXTS_KEPT = 256
_STORE_SRC = 1  # VertexComponentControl


@dataclass(slots=True, frozen=True)
class Use:
    """The surfaces and samplers that the messages of a kernel use, as far as descriptors are immediate."""

    surfaces: frozenset[int] = frozenset()  # binding table indices
    samplers: frozenset[int] = frozenset()
    targets: frozenset[int] = frozenset()  # those of the surfaces that render target writes go to
    textures: frozenset[int] = frozenset()  # those that the sampler reads
    media_surfaces: frozenset[int] = frozenset()  # those that the media functions of the sampler read
    media_samplers: frozenset[tuple[str, int]] = frozenset()  # the blocks of their state, and the indices
    dynamic: bool = False  # some descriptor is computed: anything may be reached

    def surface_role(self, index: int) -> str:
        if index in self.targets:
            return "render target"
        return "texture" if index in self.textures else "surface"


MERGED_NOTHING = Use()


def merged(first: Use, second: Use) -> Use:
    """The uses of two kernels together."""
    return Use(first.surfaces | second.surfaces, first.samplers | second.samplers, first.targets | second.targets,
               first.textures | second.textures, first.media_surfaces | second.media_surfaces,
               first.media_samplers | second.media_samplers, first.dynamic or second.dynamic)


@dataclass(slots=True)
class Pointer:
    """A pointer whose target is followed at the draw: what it counts from, and the state with which it was shown."""

    base: str
    offset: int
    shown: Hashable = None


@dataclass(slots=True, frozen=True)
class VertexElement:
    """A valid vertex element, as far as readers of vertices need it."""

    buffer: int
    offset: int
    info: FormatInfo | None  # of its format; None: a reserved one
    reads_memory: bool  # or all components are constants

    @property
    def size(self) -> int:
        """Bytes in the buffer."""
        return 4 if self.info is None else self.info.block_bits // 8


@dataclass(slots=True)
class Unit:
    """One stage as the last command for it left it."""

    body: Body
    address: int
    kernels: tuple[KernelCode, ...] = ()  # more than one where a stage chooses by the size of its threads
    use: Use | None = None  # of all of them

    @property
    def kernel(self) -> KernelCode | None:
        return self.kernels[0] if self.kernels else None


@dataclass(slots=True)
class Context:
    """The state that pointers and counts depend on."""

    bases: dict[str, int]  # by name, "" is 0
    mask: int = 0xFFFFFFFF  # of addresses
    bounds: dict[str, int] = field(default_factory=dict)
    pipeline: str = "3D"
    units: dict[str, Unit] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)  # stage -> address of its binding table
    state_changed: bool = False  # since the last draw, state that the next one follows
    vertex_buffers: dict[int, View] = field(default_factory=dict)
    vertex_elements: tuple[VertexElement, ...] = ()
    index_buffer: View | None = None
    step_rates: dict[int, int] = field(default_factory=dict)  # Gen8 on: of elements with a value for each instance
    vertices_changed: bool = False
    _buffer_words: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _element_words: tuple[tuple[int, ...], ...] = ()
    vfe: View | None = None
    vld: View | None = None  # VLD_STATE or VFE_STATE_EX
    remap: dict[str, int] = field(default_factory=dict)  # its fields that name interface descriptors
    extended: str = "VLD_STATE"  # the name of its layout
    _parsed: dict[Body, Any] = field(default_factory=dict)
    pending: dict[tuple[str, str], Pointer] = field(default_factory=dict)  # Gen6 on: by target and stage
    gates: dict[str, bool] = field(default_factory=dict)  # stages that another command than their own enables
    late: dict[str, Callable[[Any, Command], Unit]] = field(default_factory=dict)  # stages set up while disabled
    current: dict[str, View] = field(default_factory=dict)  # the last commands of some names
    drawn: Hashable = None  # the key of the state that the last draw followed
    absolute_constants: bool = False  # the first constant buffer does not count from dynamic state
    y_tiled: YTiled = TILED_IN_X  # of blits; of the engine, not of a logical context
    descriptors: int = 0  # address of the interface descriptors
    descriptors_shown: set[int] = field(default_factory=set)  # since the last MEDIA_STATE_POINTERS
    _key: tuple[int, ...] | None = None  # of the bases
    number: int = 0  # of the logical context whose state this is
    _saved: dict[int, dict[str, Any]] = field(default_factory=dict)  # the state of the others

    def renewed(self) -> Context:
        """The state before any command, which remembers how commands are parsed."""
        return Context(dict.fromkeys(self.bases, 0), self.mask, _parsed=self._parsed)

    def switch(self, number: int) -> None:
        """Save the state, and continue with that of another logical context."""
        if number == self.number:
            return
        kept = ("mask", "number", "y_tiled", "_saved", "_parsed")
        names = [f.name for f in fields(self) if f.name not in kept]
        self._saved[self.number] = {name: getattr(self, name) for name in names}
        if len(self._saved) > _CONTEXTS_KEPT:
            del self._saved[next(iter(self._saved))]
        fresh = Context(dict.fromkeys(self.bases, 0))
        for name, value in (self._saved.pop(number, None) or {name: getattr(fresh, name) for name in names}).items():
            setattr(self, name, value)
        self.number = number

    def absolute(self, base: str, offset: int) -> int:
        return self.bases.get(base, 0) + offset & self.mask

    def running(self, stage: str) -> Unit | None:
        """A stage that executes kernels."""
        return self.units.get(stage) if self.gates.get(stage, True) else None

    def rebase(self, base: str, address: int) -> None:
        self.bases[base] = address & self.mask
        self._key = None

    def set_bases(self, body: Body) -> None:
        """STATE_BASE_ADDRESS: each field applies only with its modify bit."""
        self._key = None
        for base, value, bound in self.recall(body, self._bases_of):
            (self.bounds if bound else self.bases)[base] = value & self.mask

    def _bases_of(self, view: View) -> list[tuple[str, int, bool]]:
        found = []
        names = {f.name: (f, raw) for f, raw in view.fields()}
        for name, (f, raw) in names.items():
            if not isinstance(f, Address | Uint) or not name.endswith(("base_address", "bound", "size")):
                continue
            modify = names.get(f"{name}_modify_enable")
            if modify is not None and isinstance(modify[0], Bool) and not modify[1]:
                continue
            for base in self.bases:
                if base and name.startswith(base):
                    found.append((base, int(f.decode(raw)), not name.endswith("base_address")))
        return found

    def set_vertex_buffers(self, body: Body) -> None:
        """3DSTATE_VERTEX_BUFFERS: those that are not listed stay."""
        for index, buffer, words, keeps in self.recall(body, _vertex_buffers_of):
            old = self.vertex_buffers.get(index) if keeps else None
            if old is not None:
                buffer = _with_address_of(buffer, old)
                words = _words_of(buffer)
            self.vertex_buffers[index], self._buffer_words[index] = buffer, words
        self.vertices_changed = True

    def set_vertex_elements(self, body: Body) -> None:
        """3DSTATE_VERTEX_ELEMENTS: the whole list."""
        self.vertex_elements, self._element_words = self.recall(body, _vertex_elements_of)
        self.vertices_changed = True

    def set_index_buffer(self, body: Body) -> None:
        self.index_buffer = body.view
        self.vertices_changed = True

    def recall(self, body: Body, parse: Callable[[View], Any]) -> Any:
        """The parsed form of a command, cached by content."""
        found = self._parsed.get(body)
        if found is None:
            if len(self._parsed) >= _PARSED_KEPT:
                self._parsed.clear()
            found = self._parsed[body] = parse(body.view)
        return found

    def units_key(self) -> tuple[tuple[str, Body], ...]:
        return tuple([(stage, unit.body) for stage, unit in self.units.items()])

    def vertices_key(self) -> Hashable:
        """The state that determines which vertices a primitive reads."""
        cut = self.current.get("3DSTATE_VF")
        index = None if self.index_buffer is None else tuple(self.index_buffer.words)
        return (*sorted(self._buffer_words.items()), self._element_words, index,
                tuple(self.step_rates.items()), None if cut is None else tuple(cut.words))

    def cut_index(self, buffer: View, largest: int) -> int | None:
        """The index that cuts a strip, or None: the largest one until Gen7.5, which has a command for it."""
        cut = self.current.get("3DSTATE_VF")
        if cut is not None and "cut_index" in cut.layout.by_name(cut.gen):
            return int(cut.cut_index) & largest if cut.indexed_draw_cut_index_enable else None
        enabled = "cut_index_enable" in buffer.layout.by_name(buffer.gen) and buffer.cut_index_enable
        return largest if enabled else None

    def key(self) -> tuple[int, ...]:
        """The bases that pointers in state blocks are relative to."""
        if self._key is None:
            self._key = tuple(self.bases.values())
        return self._key


def _words_of(item: View) -> tuple[int, ...]:
    return tuple(item.words[item.at:item.at + item.dwords])


def _vertex_elements_of(view: View) -> tuple[tuple[VertexElement, ...], tuple[tuple[int, ...], ...]]:
    """The valid elements, and their dwords."""
    valid = [element for element in view.vertex_elements if element.valid]
    elements = tuple([VertexElement(int(e.vertex_buffer_index), int(e.source_element_offset),
                                    format_info(e.raw("source_element_format")),
                                    any(e.raw(f"component_{i}_control") == _STORE_SRC for i in range(4)))
                      for e in valid])
    return elements, tuple([_words_of(element) for element in valid])


def _vertex_buffers_of(view: View) -> list[tuple[int, View, tuple[int, ...], bool]]:
    """Number, state and dwords of each buffer, and whether it keeps the address that it has."""
    found = []
    for buffer in view.vertex_buffers:
        modify = "address_modify_enable" in buffer.layout.by_name(buffer.gen)
        found.append((int(buffer.vertex_buffer_index), buffer, _words_of(buffer),
                      modify and not buffer.address_modify_enable))
    return found


def _with_address_of(buffer: View, old: View) -> View:
    """A vertex buffer with the address and the end of another one."""
    size = buffer.dwords
    words = list(buffer.words[buffer.at:buffer.at + size])
    for f, raw in old.fields():
        if f.name in ("buffer_starting_address", "end_address", "buffer_size"):
            f.insert(words, raw)
    return buffer.layout.view(words, gen=buffer.gen)


# --- the counts -----------------------------------------------------------------------------------------------------
def surface_count(declared: int, use: Use | None) -> tuple[int, frozenset[int] | None]:
    """The number of binding table entries to show, and those that are certainly used.

    The entry count of a unit is a prefetch hint that may be 0 or too small; the kernel's own messages know better.
    """
    if use is None or use.dynamic:
        return min(declared, MAX_BINDING_TABLE), None
    reached = frozenset(i for i in use.surfaces if i < 255)
    return min(max([declared, *(i + 1 for i in reached)]), MAX_BINDING_TABLE), reached


def sampler_count(declared: int, use: Use | None) -> int:
    """Declared counts come in fours, so they may reach past the last sampler; the kernel's messages are exact."""
    if use is None or use.dynamic:
        return min(declared, MAX_SAMPLERS)
    return max((i + 1 for i in use.samplers), default=0)


# Memory that the GPU may be the first to write, or that is not worth showing.
OPAQUE = frozenset({"SCRATCH", "SURFACE_DATA", "DATA", "BATCH"})


def uses_border(view: View) -> bool:
    """Whether a sampler can return its border color: some coordinate clamps to it, or is a disabled cube face."""
    names = [f.text(raw) for f, raw in view.fields() if "address_control" in f.name]
    return not names or any("BORDER" in n or "CUBE" in n for n in names)
