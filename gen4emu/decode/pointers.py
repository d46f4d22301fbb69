"""Following pointers: from a command to the state blocks, kernels and data below it.

Driven by the `target`, `base` and `count` of the layouts' addresses; `gen4emu.decode.context` knows the exceptions.
A block is shown where it is first met and again when it changed; its other mentions are references.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from gen4emu.decode.blits import Operand, operands
from gen4emu.decode.compiled import complaints_of, follow_of, words_of
from gen4emu.decode.context import (
    COUNTS,
    DEFERRED,
    MAX_BINDING_TABLE,
    OPAQUE,
    STAGES,
    UNUSED,
    Context,
    Unit,
    Use,
    sampler_count,
    stage_of,
    surface_count,
)
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.lint_rules import RULES, Severity
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import Body, Command, Data, Diagnostic, Kernel, Node, Shared, State
from gen4emu.decode.options import Options
from gen4emu.decode.plain_data import plain, vertices
from gen4emu.errors import DecodeError
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import extended_state
from gen4emu.hw.gen4.surface import BINDING_TABLE_STATE
from gen4emu.hw.layout import Block, View

_ENTRY = BINDING_TABLE_STATE.field("surface_state_pointer", Gen.EL)
_BODIES_KEPT = 16384
_ROWS = 1 << 12  # plus the size of memory: bounds rows that are shown repeatedly
_STATE_BUDGET = 1 << 18  # nodes per submission: hostile base address changes must not multiply the output


@dataclass(slots=True)
class _Known:
    """The results of equal pointers, once they are only references."""

    children: Shared | None = None
    units: dict[str, Unit] | None = None  # that 3DSTATE_PIPELINED_POINTERS sets


class PointerFollower:
    """Follows the pointers of one decoder.  Everything that it finds becomes children of the command's node."""

    def __init__(self, peek: MemoryReader, gen: Gen, context: Context, kernels: Kernels, options: Options) -> None:
        self.peek, self.gen, self.context, self.kernels, self.options = peek, gen, context, kernels, options
        self.missing: dict[int, str] = {}  # addresses without contents, and the nodes that point there
        self.rows = _ROWS  # of data that may still be shown in this submission
        self._bodies: dict[tuple[str, bytes], Body] = {}
        self._shown: dict[tuple[str, int], Body] = {}  # shown in the output so far
        self._blits: dict[Body, Shared] = {}
        self._known: dict[Hashable, _Known] = {}
        self._visited: dict[tuple[str, int, int, int], State] = {}  # in this submission
        self._kernels_seen: set[int] = set()
        self._checked: set[tuple[str, int, int]] = set()
        self._budget = _STATE_BUDGET
        self._extended = catalogue.block_named("VLD_STATE")

    def new_submission(self) -> None:
        self._visited.clear()
        self._known.clear()
        self._checked.clear()
        self.missing.clear()
        self.kernels.new_submission(self.peek.memory.owned_bytes)
        self.rows = _ROWS + self.peek.memory.owned_bytes // 8
        self._budget = _STATE_BUDGET

    # --- from commands -------------------------------------------------------------------------------------------
    def pointers(self, node: Command) -> None:
        """Follow all pointers in the layout of a command."""
        if self.options.follow and not self._recall(node, (node.body, *self.context.key())):
            self._below(node, node.body.view, "")

    def pipelined(self, node: Command) -> None:
        """3DSTATE_PIPELINED_POINTERS: the units change, and so does the use of binding tables."""
        self.context.units = {}
        self.context.tables_changed = True
        self.pointers(node)

    def _recall(self, node: Command, key: Hashable) -> bool:
        """Equal pointers lead to equal state: from the third time on, children are shared instead of found again.

        The first time shows the state and the second refers to it; what the second looks like is kept.
        """
        if self.options.repeat:
            return False
        known = self._known.get(key)
        if known is None:
            if len(self._known) < _STATE_BUDGET:
                self._known[key] = _Known()
            return False
        if known.children is None:
            self._below(node, node.body.view, "")
            known.children = Shared(node.children)
            if node.body.name == "3DSTATE_PIPELINED_POINTERS":
                known.units = self.context.units
        elif known.units is not None:
            self.context.units = known.units
        node.children = known.children
        return True

    def binding_tables(self, node: Command) -> None:
        """3DSTATE_BINDING_TABLE_POINTERS: stored until the units are known, which determine the number of entries."""
        self.context.set_tables(node.body)

    def primitive(self, node: Command) -> None:
        """3DPRIMITIVE: resolve binding tables and vertex buffers set by earlier commands."""
        if not self.options.follow:
            return
        tables = None
        if self.context.tables_changed:
            tables = (self.context.units_key(), *self.context.tables.items())
        show = self.context.vertices_changed
        key = (node.body, tables, self.context.vertices_key() if show else None, *self.context.key())
        known = self._known.get(key)
        if known is not None and known.children is not None:
            node.children = known.children
            self.context.tables_changed = self.context.vertices_changed = False
            return
        if self.context.tables_changed:
            self.pending_tables(node)
        vertices(self, node, show)
        self.context.vertices_changed = False
        self._below(node, node.body.view, "")
        if known is None and len(self._known) < _STATE_BUDGET:
            self._known[key] = _Known()
        elif known is not None and not self.options.repeat:
            known.children = node.children = Shared(node.children)

    def pending_tables(self, node: Node) -> None:
        """Binding tables of the stages that run kernels."""
        self.context.tables_changed = False
        for stage in STAGES:
            unit = self.context.units.get(stage)
            address = self.context.tables.get(stage)
            if unit is None or address is None or unit.use is None:
                continue
            declared = int(unit.body.view.binding_table_entry_count)
            self.table(node, address, declared, unit.use, stage)

    def media_pointers(self, node: Command) -> None:
        """MEDIA_STATE_POINTERS: VFE's mode determines the layout of the extended state."""
        context, view = self.context, node.body.view
        context.vfe = context.vld = None
        context.descriptors_shown.clear()
        vfe = catalogue.block_named("VFE_STATE")
        address = context.absolute("general_state", view.pointer_to_vfe_state)
        context.vfe = self.peek.view(vfe, address, self.gen)
        if context.vfe is not None:
            self._extended = extended_state(context.vfe.raw("vfe_mode"))
            if view.extended_vfe_state_enable and self._extended.gens & self.gen:
                at = context.absolute("general_state", view.extended_state_pointer)
                context.vld = self.peek.view(self._extended, at, self.gen)
        self.pointers(node)

    def media_object(self, node: Command) -> None:
        """MEDIA_OBJECT and its variants: the interface descriptors that they select, then their data."""
        if not self.options.follow:
            return
        context = self.context
        if context.vfe is not None:
            block = catalogue.block_named("INTERFACE_DESCRIPTOR")
            for i, address in self.descriptors(node.body.view):
                if i not in context.descriptors_shown:
                    context.descriptors_shown.add(i)
                    self.block(node, block, address, f"media {i}")
        self.pointers(node)

    def descriptors(self, view: View) -> list[tuple[int, int]]:
        """Number and address of the interface descriptors that an object can start."""
        if self.context.vfe is None:
            return []
        base = self.context.absolute("general_state", self.context.vfe.interface_descriptor_base_pointer)
        size = 4 * catalogue.block_named("INTERFACE_DESCRIPTOR").size(self.gen)
        return [(i, base + size * i & 0xFFFFFFFF) for i in self._descriptors(view)]

    def _descriptors(self, view: View) -> list[int]:
        """The numbers of the interface descriptors that an object can start."""
        vld = self.context.vld
        remap = {} if vld is None else {f.name: f.decode(raw) for f, raw in vld.fields() if "remap" in f.name}
        if vld is not None and vld.layout.name == "VLD_STATE":
            return sorted(set(remap.values())) if remap else [0]
        index = int(view.interface_descriptor_offset)
        if view.layout.name == "MEDIA_OBJECT_EX":
            index = int(remap.get(f"interface_descriptor_remap_{index}", index))
        return [index]

    def named(self, node: Node, name: str, address: int, count: int) -> None:
        """Blocks at an address, by the user's choice."""
        if name == "KERNEL":
            self._kernel(node, address, "")
        elif name in ("BINDING_TABLE", "BINDING_TABLE_STATE"):
            self.table(node, address, count if count > 1 else 0, None, "")
        elif name in ("CONSTANTS", "INDIRECT_DATA"):
            plain(self, node, address, name, count, "")
        else:
            try:
                block = catalogue.block_named(name)
                step = 4 * block.size(self.gen)
            except KeyError:
                raise DecodeError(f"unknown block {name!r}{_meant(name)}") from None
            for i in range(count):
                self.block(node, block, address + i * step, "")

    def blit(self, node: Command) -> None:
        """A 2D command: its operands as surfaces."""
        if not self.options.follow:
            return
        known = self._blits.get(node.body)
        if known is None:
            known = Shared(_surface_of(o) for o in operands(node.body.view))
            if len(self._blits) >= _BODIES_KEPT:
                self._blits.clear()
            self._blits[node.body] = known
        node.children = known

    # --- blocks --------------------------------------------------------------------------------------------------
    def _below(self, parent: Node, view: View, role: str) -> None:
        """The targets of a view's pointers, and of those of its arrays' items."""
        follow = follow_of(view.layout, self.gen)
        use: Use | None = None
        for f in follow.fields:
            if (f.when and not view.layout.exists(f, view.words, view.at, self.gen)) or f.last_dword >= view.dwords:
                continue
            unused = UNUSED.get((view.layout.name, f.name))
            if unused is not None and unused(view):
                continue
            found = self._point(parent, view, f, role, use)
            use = found if found is not None else use
        for a in follow.arrays:
            for i, item in enumerate(view.array(a)):
                self._below(parent, item, f"{role} {i}".strip())

    def _point(self, parent: Node, view: View, f: Address, role: str, use: Use | None) -> Use | None:
        """Follow one pointer.  Returns the resources of a kernel, for later pointers of the block."""
        address = self.context.absolute(f.base, f.decode(f.extract(view.words, view.at)))
        target = f.target
        if target == "VLD_STATE":
            if not self._extended.gens & self.gen:
                return None
            target = self._extended.name
        if target == "KERNEL":
            return self._kernel(parent, address, role)
        if target in OPAQUE:
            return None
        if target == "BINDING_TABLE_STATE" and view.layout.name == "INTERFACE_DESCRIPTOR":
            self.table(parent, address, int(view.binding_table_entry_count), use, role)
        elif target == "SAMPLER_STATE":
            count = sampler_count(self._count(view, f), use)
            self._array(parent, target, address, count, f"{role} sampler")
        elif target in DEFERRED:
            return None
        elif target in ("CONSTANTS", "INDIRECT_DATA"):
            plain(self, parent, address, target, self._count(view, f), role)
        else:
            count = COUNTS[target](self.context) if target in COUNTS else self._count(view, f)
            self._array(parent, target, address, count, role)
        return None

    def _count(self, view: View, f: Address) -> int:
        return int(getattr(view, f.count)) if isinstance(f.count, str) else f.count

    def _array(self, parent: Node, target: str, address: int, count: int, role: str) -> None:
        block = catalogue.block_named(target)
        step = 4 * block.size(self.gen)
        for i in range(count):
            self.block(parent, block, address + i * step, f"{role} {i}".strip() if count > 1 else role)

    def block(self, parent: Node, block: Block, address: int, role: str) -> State | None:
        """One block and all below it, as a child of `parent`."""
        address &= 0xFFFFFFFF
        key = (block.name, address, *self.context.key())
        known = self._visited.get(key)
        if known is not None and not self.options.repeat:
            self._unit(known, address, role)
            parent.children.append(State(address, role, known.body, same=True))
            return None
        self._budget -= 1
        if self._budget < 0:
            if self._budget == -1:
                self.complain(parent, "too-much-state", f"more than {_STATE_BUDGET} blocks: the rest is not shown")
            return None
        data = self.peek.read(address, 4 * block.size(self.gen))
        if data is None:
            self.lost(parent, address, block.name, role)
            return None
        body = self._body(block, data)
        same = self._shown.get((block.name, address)) is body and not self.options.repeat
        state = State(address, role, body, same)
        self._visited[key] = state
        self._shown[block.name, address] = body
        parent.children.append(state)
        if not state.same:
            state.diagnostics += diagnose(body, address)
        unit = self._unit(state, address, role)
        self._below(state, body.view, role or stage_of(block.name))
        if unit is not None:
            self._kernel_of(unit, state)
        return state

    def _unit(self, state: State, address: int, role: str) -> Unit | None:
        """A block that is a unit's state becomes that unit's current one."""
        stage = stage_of(state.body.name)
        if not stage or stage == "media":
            return None
        unit = self.context.units[stage] = Unit(state.body, address)
        if state.children:
            self._kernel_of(unit, state)
        return unit

    def _kernel_of(self, unit: Unit, state: State) -> None:
        kernel = next((c for c in state.children if isinstance(c, Kernel)), None)
        if kernel is not None:
            unit.kernel, unit.use = kernel.code, self.kernels.use(kernel.code)

    def _body(self, block: Block, data: bytes) -> Body:
        key = (block.name, data)
        body = self._bodies.get(key)
        if body is None:
            if len(self._bodies) >= _BODIES_KEPT:
                self._bodies.clear()
            words = words_of(data)
            body = Body(block.name, block, words, self.gen, complaints_of(block, self.gen)(words))
            self._bodies[key] = body
        return body

    # --- binding tables, kernels ---------------------------------------------------------------------------------
    def table(self, parent: Node, address: int, declared: int, use: Use | None, stage: str) -> None:
        """A binding table and its surfaces.  Entries that no message names are followed when they are not zero."""
        count, reached = surface_count(declared, use)
        if reached is None and not count:
            count = self._plausible_entries(address)
        if not count:
            return
        entry_block, surface = catalogue.block_named("BINDING_TABLE_STATE"), catalogue.block_named("SURFACE_STATE")
        words = self.peek.words(address, count)
        if words is None:
            self.lost(parent, address, "BINDING_TABLE_STATE", stage)
            return
        table = Data(address, f"{stage} binding table", "BINDING_TABLE", 4 * count)
        table.values = [self._entry(entry_block, word) for word in words]
        table.rows = [" ".join(f"0x{v:08x}" for v in table.values[i:i + 8]) for i in range(0, count, 8)]
        parent.children.append(table)
        for i, (offset, word) in enumerate(zip(table.values, words, strict=True)):
            if not (i in reached if reached is not None else offset):
                continue
            for rule, name, raw, what in complaints_of(entry_block, self.gen)((word,)):
                self.complain(table, rule, f"entry {i}: {name}: {what}", address + 4 * i, raw)
            role = "surface" if use is None else use.surface_role(i)
            where = self.context.absolute("surface_state", offset)
            if not offset and self.peek.page(where >> 12) is None:
                self.unset(table, where, "SURFACE_STATE", f"{stage} {role} {i}")
            else:
                self.block(table, surface, where, f"{stage} {role} {i}")

    def _entry(self, block: Block, word: int) -> int:
        for f in follow_of(block, self.gen).fields:
            return int(f.decode(f.extract((word,))))
        return int(_ENTRY.decode(_ENTRY.extract((word,))))

    def _plausible_entries(self, address: int) -> int:
        """The number of entries up to the first that is zero, unaligned or unmapped, if unit and kernel give none."""
        data = words_of(self.peek.available(address, 4 * MAX_BINDING_TABLE))
        for i, word in enumerate(data):
            where = self.context.absolute("surface_state", word)
            if not word or word & ~_ENTRY.mask_in(0) or self.peek.page(where >> 12) is None:
                return i
        return len(data)

    def _kernel(self, parent: Node, address: int, role: str) -> Use | None:
        code = self.kernels.at(self.peek, address)
        if code is None:
            if self.kernels.exhausted:
                self.complain(parent, "too-much-state", "the kernels of this submission overlap too much to be shown")
            else:
                self.lost(parent, address, "KERNEL", role)
            return None
        first = self.options.repeat or code.number not in self._kernels_seen
        self._kernels_seen.add(code.number)
        node = Kernel(address, role or stage_of(parent.title), code, first)
        if first and not code.complete:
            what = "no end of thread found" if code.instructions else "no instruction here"
            self.complain(node, "kernel-end", what, address)
        parent.children.append(node)
        return self.kernels.use(code)

    # --- diagnostics ---------------------------------------------------------------------------------------------
    def lost(self, node: Node, address: int, what: str, role: str) -> None:
        """Report a pointer to memory without contents."""
        if what == "CONSTANTS":
            self.unset(node, address, what, role)
        else:
            self._lost(node, address, what, role, "unmapped")

    def unset(self, node: Node, address: int, what: str, role: str) -> None:
        """A pointer that its driver may never have set: constants for which some drivers only reserve registers,
        entries of binding tables that a kernel may, but need not, use."""
        if self.options.lint:
            self._lost(node, address, what, role, "unset-constants" if what == "CONSTANTS" else "unset-surface")

    def _lost(self, node: Node, address: int, what: str, role: str, rule: str) -> None:
        self.missing.setdefault(address, what)
        if (what, address, 0) in self._checked:
            return
        self._checked.add((what, address, 0))
        name = f"{what} ({role})" if role else what
        text = f"{name} is at 0x{address:08x}, which nothing in the trace wrote"
        node.diagnostics.append(Diagnostic(RULES[rule].severity, rule, node.address, node.title, text, value=address))

    def first_time(self, what: str, address: int, size: int) -> bool:
        """Whether a range was not looked at before in this submission."""
        key = (what, address, size)
        if key in self._checked:
            return False
        if len(self._checked) < _STATE_BUDGET:
            self._checked.add(key)
        return True

    def complain(self, node: Node, rule: str, text: str, address: int | None = None, value: int | None = None) -> None:
        where = node.address if address is None else address
        node.diagnostics.append(Diagnostic(Severity.ERROR, rule, where, node.title, text, value=value))


def _surface_of(operand: Operand) -> Data:
    data = Data(operand.address, operand.side, "SURFACE", operand.bytes)
    data.rows, data.values = [str(operand)], [operand.to_dict()]
    return data


def diagnose(body: Body, address: int) -> Iterable[Diagnostic]:
    """The complaints of a body as diagnostics."""
    return [Diagnostic(Severity.ERROR, rule, address, body.name, f"{name}: {what}", name, raw)
            for rule, name, raw, what in body.complaints]


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name, [b.name for b in catalogue.BLOCKS], 1)
    return f"; did you mean {near[0]}?" if near else ""
