"""Following pointers: from a command to the state blocks, kernels and data below it.

Driven by the `target`, `base` and `count` of the layouts' addresses; `gen4emu.decode.context` knows the exceptions.
A block is shown where it is first met and again when it changed; its other mentions are references.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gen4emu.decode.blits import Operand, YTiled, operands
from gen4emu.decode.compiled import complaints_of, follow_of, words_of
from gen4emu.decode.context import MAX_BINDING_TABLE, OPAQUE, Context, Unit, Use, sampler_count, surface_count
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.lint_rules import RULES, Severity
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.model import Model
from gen4emu.decode.nodes import Body, Command, Data, Diagnostic, Kernel, KernelCode, Node, Register, Shared, State
from gen4emu.decode.options import Options
from gen4emu.decode.plain_data import plain, vertices
from gen4emu.errors import DecodeError
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Address, Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View

_BODIES_KEPT = 16384
_ROWS = 1 << 12  # plus the size of memory: bounds rows that are shown repeatedly
_SAMPLER_BYTES = 16  # that an index of a sampler counts
_STATE_BUDGET = 1 << 18  # nodes per submission: hostile base address changes must not multiply the output


@dataclass(slots=True)
class _Known:
    """The results of equal pointers, once they are only references."""

    children: Shared | None = None
    result: Any = None


class PointerFollower:
    """Follows the pointers of one decoder.  Everything that it finds becomes children of the command's node."""

    def __init__(self, peek: MemoryReader, gen: Gen, model: Model, context: Context, kernels: Kernels,
                 options: Options, bodies: dict[tuple[str, bytes], Body] | None = None) -> None:
        """`bodies`: parsed blocks by name and contents, which another follower has found before."""
        self.peek, self.gen, self.model, self.context = peek, gen, model, context
        self.kernels, self.options = kernels, options
        self.catalogue = catalogue.catalogue_of(gen)
        self.missing: dict[int, str] = {}  # addresses without contents, and the nodes that point there
        self.rows = _ROWS  # of data that may still be shown in this submission
        self._bodies: dict[tuple[str, bytes], Body] = {} if bodies is None else bodies
        self._shown: dict[tuple[str, int], Body] = {}  # shown in the output so far
        self._blits: defaultdict[YTiled, dict[Body, Shared]] = defaultdict(dict)
        self._known: dict[Hashable, _Known] = {}
        self._visited: dict[Hashable, State] = {}  # in this submission
        self._kernels_seen: set[int] = set()
        self._checked: set[tuple[str, int, int]] = set()
        self._budget = _STATE_BUDGET
        self._stages = {**model.units, model.descriptor: "media"}  # by block

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
        if self.options.follow:
            self.once(node, (node.body, *self.context.key()), _all_pointers)

    def once(self, node: Command, key: Hashable, follow: Callable[[PointerFollower, Command], Any]) -> Any:
        """The result of `follow`.  Equal keys lead to equal state: from the third time on, children are shared instead
        of found again.

        The first time shows the state and the second refers to it; what the second looks like is kept.
        """
        if self.options.repeat:
            return follow(self, node)
        known = self._known.get(key)
        if known is None:
            if len(self._known) < _STATE_BUDGET:
                self._known[key] = _Known()
            return follow(self, node)
        if known.children is None:
            known.result = follow(self, node)
            known.children = Shared(node.children)
        node.children = known.children
        return known.result

    def primitive(self, node: Command) -> None:
        """3DPRIMITIVE: resolve the state and the vertex buffers that earlier commands set."""
        if not self.options.follow:
            return
        context = self.context
        state = self.model.draw_key(context) if context.state_changed else None
        show = context.vertices_changed
        key = (node.body, state, context.vertices_key() if show else None, *context.key())
        known = self._known.get(key)
        if known is not None and known.children is not None:
            node.children = known.children
            context.state_changed = context.vertices_changed = False
            return
        if context.state_changed:
            self.pending_state(node)
        vertices(self, node, show)
        context.vertices_changed = False
        self.below(node, node.body.view, "")
        if known is None and len(self._known) < _STATE_BUDGET:
            self._known[key] = _Known()
        elif known is not None and not self.options.repeat:
            known.children = node.children = Shared(node.children)

    def pending_state(self, node: Command) -> None:
        """State whose extent depended on later commands."""
        self.context.state_changed = False
        self.model.draw_state(self, node)

    def registers(self, node: Command, loaded: Iterable[tuple[int, int]]) -> None:
        """The meaning of the values that a command loads into registers: offset and value of each."""
        if not self.options.follow:
            return
        for offset, value in loaded:
            register = self.catalogue.register_at(offset)
            if register is not None and register.size(self.gen) == 1 and len(register.fields_for(self.gen)) > 1:
                node.children.append(Register(offset, "", self._body(register, value.to_bytes(4, "little"))))

    def named(self, node: Node, name: str, address: int, count: int) -> None:
        """Blocks at an address, by the user's choice."""
        if name == "KERNEL":
            self.kernel(node, address, "")
        elif name in ("BINDING_TABLE", "BINDING_TABLE_STATE"):
            self.table(node, address, count if count > 1 else 0, None, "")
        elif name in ("CONSTANTS", "INDIRECT_DATA"):
            row = self.model.constant_row_bytes if name == "CONSTANTS" else 1
            plain(self, node, address, name, count * row, "")
        else:
            try:
                block = self.catalogue.block(name)
                step = 4 * block.size(self.gen)
            except KeyError:
                raise DecodeError(f"unknown block {name!r}{_meant(name, self.gen)}") from None
            for i in range(count):
                self.block(node, block, address + i * step, "")

    def blit(self, node: Command) -> None:
        """A 2D command: its operands as surfaces."""
        if not self.options.follow:
            return
        blits = self._blits[self.context.y_tiled]
        known = blits.get(node.body)
        if known is None:
            known = Shared(_surface_of(o) for o in operands(node.body.view, self.context.y_tiled))
            if len(blits) >= _BODIES_KEPT:
                blits.clear()
            blits[node.body] = known
        node.children = known

    # --- blocks --------------------------------------------------------------------------------------------------
    def below(self, parent: Node, view: View, role: str) -> None:
        """The targets of a view's pointers, and of those of its arrays' items."""
        follow = follow_of(view.layout, self.gen)
        use: Use | None = None
        for f in follow.fields:
            if (f.when and not view.layout.exists(f, view.words, view.at, self.gen)) or f.last_dword >= view.dwords:
                continue
            if self.is_unused(view, f):
                continue
            found = self._point(parent, view, f, role, use)
            use = found if found is not None else use
        for a in follow.arrays:
            for i, item in enumerate(view.array(a)):
                self.below(parent, item, f"{role} {i}".strip())

    def _point(self, parent: Node, view: View, f: Address, role: str, use: Use | None) -> Use | None:
        """Follow one pointer.  Returns the resources of a kernel, for later pointers of the block."""
        address = self.context.absolute(f.base, f.decode(f.extract(view.words, view.at)))
        target = f.target
        if target == "KERNEL":
            if view.layout.name == self.model.descriptor and not address and self.peek.page(0) is None:
                return None  # a descriptor that is not used
            return self.kernel(parent, address, role)
        if target in OPAQUE:
            return None
        special = self.model.targets.get(target)
        if special is not None:
            special(self, parent, view, address, role, use)
        elif target == "BINDING_TABLE_STATE" and view.layout.name == self.model.descriptor:
            self.table(parent, address, int(view.binding_table_entry_count), use, role)
        elif target == "SAMPLER_STATE":
            self.samplers(parent, address, self._count(view, f), use, role)
        elif target in self.model.deferred:
            return None
        elif target in ("CONSTANTS", "INDIRECT_DATA"):
            plain(self, parent, address, target, self.size_of(view, f), role)
        else:
            counts = self.model.counts
            count = counts[target](self.context) if target in counts else self._count(view, f)
            self.array(parent, target, address, count, role)
        return None

    def _count(self, view: View, f: Address) -> int:
        return int(getattr(view, f.count)) if isinstance(f.count, str) else f.count

    def samplers(self, parent: Node, address: int, declared: int, use: Use | None, stage: str) -> None:
        """The samplers of a stage, as far as its kernel uses them."""
        self.array(parent, "SAMPLER_STATE", address, sampler_count(declared, use), f"{stage} sampler")
        for name, index in sorted(use.media_samplers) if use is not None else ():
            self.block(parent, self.catalogue.block(name), address + _SAMPLER_BYTES * index, f"{stage} sampler {index}")

    def size_of(self, view: View, f: Address) -> int:
        """The bytes of plain data that a pointer leads to: constants are counted in rows, unless the field says so."""
        count = self._count(view, f)
        in_bytes = f.target != "CONSTANTS" or (isinstance(f.count, str) and f.count.endswith("_data_length"))
        return count if in_bytes else count * self.model.constant_row_bytes

    def plain(self, parent: Node, address: int, target: str, size: int, role: str) -> None:
        plain(self, parent, address, target, size, role)

    def is_unused(self, view: View, f: Address) -> bool:
        """Whether another field says that a pointer means nothing."""
        unused = self.model.unused.get((view.layout.name, f.name))
        return unused is not None and unused(view)

    def array(self, parent: Node, target: str, address: int, count: int, role: str) -> None:
        block = self.catalogue.block(target)
        step = 4 * block.size(self.gen)
        for i in range(count):
            self.block(parent, block, address + i * step, f"{role} {i}".strip() if count > 1 else role)

    def block(self, parent: Node, block: Block, address: int, role: str) -> State | None:
        """One block and all below it, as a child of `parent`."""
        address &= self.context.mask
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
        self.below(state, body.view, role or self._stages.get(block.name, ""))
        if unit is not None:
            self._kernel_of(unit, state)
        return state

    def _unit(self, state: State, address: int, role: str) -> Unit | None:
        """A block that is a unit's state becomes that unit's current one."""
        stage = self.model.units.get(state.body.name)
        if stage is None:
            return None
        unit = self.context.units[stage] = Unit(state.body, address)
        if state.children:
            self._kernel_of(unit, state)
        return unit

    def _kernel_of(self, unit: Unit, state: State) -> None:
        kernel = next((c for c in state.children if isinstance(c, Kernel)), None)
        if kernel is not None:
            unit.kernels, unit.use = (kernel.code,), self.kernels.use(kernel.code)

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
        entry_block, surface = self.catalogue.block("BINDING_TABLE_STATE"), self.catalogue.block(self.model.surface)
        words = self.peek.words(address, count)
        if words is None:
            self.lost(parent, address, "BINDING_TABLE_STATE", stage)
            return
        table = Data(address, f"{stage} binding table", "BINDING_TABLE", 4 * count)
        table.values = [int(self._entry.decode(self._entry.extract((word,)))) for word in words]
        table.rows = [" ".join(f"0x{v:08x}" for v in table.values[i:i + 8]) for i in range(0, count, 8)]
        parent.children.append(table)
        for i, (offset, word) in enumerate(zip(table.values, words, strict=True)):
            if not (i in reached if reached is not None else offset):
                continue
            for rule, name, raw, what in complaints_of(entry_block, self.gen)((word,)):
                self.complain(table, rule, f"entry {i}: {name}: {what}", address + 4 * i, raw)
            role = "surface" if use is None else use.surface_role(i)
            where = self.context.absolute("surface_state", offset)
            block = self.catalogue.block("MEDIA_SURFACE_STATE") if use is not None and i in use.media_surfaces \
                else surface
            if not offset and self.peek.page(where >> 12) is None:
                self.unset(table, where, surface.name, f"{stage} {role} {i}")
            else:
                self.block(table, block, where, f"{stage} {role} {i}")

    @cached_property
    def _entry(self) -> Field:
        return self.catalogue.block("BINDING_TABLE_STATE").field("surface_state_pointer", self.gen)

    def _plausible_entries(self, address: int) -> int:
        """The number of entries up to the first that is zero, unaligned or unmapped, if unit and kernel give none."""
        data = words_of(self.peek.available(address, 4 * MAX_BINDING_TABLE))
        mask = self._entry.mask_in(0)
        for i, word in enumerate(data):
            where = self.context.absolute("surface_state", word)
            if not word or word & ~mask or self.peek.page(where >> 12) is None:
                return i
        return len(data)

    def kernel(self, parent: Node, address: int, role: str) -> Use | None:
        """A kernel as a child of `parent`; returns the resources that it uses."""
        code = self.kernel_at(parent, address, role)
        return None if code is None else self.kernels.use(code)

    def kernel_at(self, parent: Node, address: int, role: str) -> KernelCode | None:
        """A kernel as a child of `parent`."""
        code = self.kernels.at(self.peek, address)
        if code is None:
            if self.kernels.exhausted:
                self.complain(parent, "too-much-state", "the kernels of this submission overlap too much to be shown")
            else:
                self.lost(parent, address, "KERNEL", role)
            return None
        first = self.options.repeat or code.number not in self._kernels_seen
        self._kernels_seen.add(code.number)
        node = Kernel(address, role or self._stages.get(parent.title, ""), code, first)
        if first and not code.complete:
            what = "no end of thread found" if code.instructions else "no instruction here"
            self.complain(node, "kernel-end", what, address)
        parent.children.append(node)
        return code

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


def _all_pointers(follower: PointerFollower, node: Command) -> None:
    follower.below(node, node.body.view, "")


def _surface_of(operand: Operand) -> Data:
    data = Data(operand.address, operand.side, "SURFACE", operand.bytes)
    data.rows, data.values = [str(operand)], [operand.to_dict()]
    return data


def diagnose(body: Body, address: int) -> Iterable[Diagnostic]:
    """The complaints of a body as diagnostics."""
    return [Diagnostic(Severity.ERROR, rule, address, body.name, f"{name}: {what}", name, raw)
            for rule, name, raw, what in body.complaints]


def _meant(name: str, gen: Gen) -> str:
    near = difflib.get_close_matches(name, [b.name for b in catalogue.catalogue_of(gen).blocks], 1)
    return f"; did you mean {near[0]}?" if near else ""
