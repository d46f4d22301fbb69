"""Rules of Gen6 and later: `LaterLinter` applies those of one command and of a draw, and has those about order here.

Flushes and stalls between commands, state that must be sent again, commands of another engine or pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from gen4emu.decode.context import Context
from gen4emu.decode.lint_commands import COMMAND_RULES, CommandRule, flag, has
from gen4emu.decode.lint_draws import DRAW_RULES, STAGES, LintState
from gen4emu.decode.lint_rules import RULES
from gen4emu.decode.lint_surfaces import SURFACE_RULES, Reach
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import BatchStart, Command, Diagnostic, Node
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Client, View
from gen4emu.hw.layout import Command as Layout

_GEN8_ON = Gen.GEN8 | Gen.GEN9
_L3_REGISTERS = {Gen.GEN7 | Gen.GEN75: (0xB010, 0xB020, 0xB024), _GEN8_ON: (0x7034,)}
_CHECKED_KEPT = 1 << 14
_STREAMER_COMMANDS = ("3DSTATE_BINDING_TABLE_EDIT", "3DSTATE_GATHER_CONSTANT", "3DSTATE_DX9_CONSTANT",
                      "3DSTATE_DX9_GENERATE", "3DSTATE_DX9_LOCAL")


_READ_CACHES = ("state", "texture", "constant")  # that PIPE_CONTROL invalidates
_GATHER_STORES = 4  # MI_RS_STORE_DATA_IMM of the workaround for gathers
# Commands that write to memory, and the dwords in front of their data.
_STORES = {"MI_STORE_DATA_IMM": 3, "MI_STORE_REGISTER_MEM": 3, "MI_COPY_MEM_MEM": 4}


@dataclass(slots=True)
class _Gather:
    """A gather with valid bits that the workaround must repeat."""

    stores: int = 0
    constants: tuple[int, ...] = ()
    repeated: bool = False  # without valid bits


@dataclass(slots=True)
class _Order(LintState):
    """The commands so far, in one logical context, as far as rules need them."""

    pipeline: str = "3D"
    worked: bool = False  # since the last stall
    flushed: bool = True  # write caches, since the last work
    walker: str = ""  # the last one, until MEDIA_STATE_FLUSH
    stale: set[str] = field(default_factory=set)
    so_buffers: set[int] = field(default_factory=set)  # since the last draw
    high_bits: dict[int, int] = field(default_factory=dict)  # of the addresses of vertex buffers
    streamer: bool = False  # the resource streamer parses
    stalled_gs: bool = True  # since 3DSTATE_GS
    stalled_ds: bool = True  # since the allocation of the constants of DS
    threads: int = 0  # of PS in the last draw
    scoreboard: bool = True  # stalled at it since
    constants: dict[str, tuple[int, ...]] = field(default_factory=dict)  # sizes at the last draw
    flushed_3d: bool = True  # since the last draw
    uninvalidated: set[str] = field(default_factory=set)  # read caches, since the base addresses changed
    unread: set[str] = field(default_factory=set)  # read caches that were not invalidated since the last work
    rendered: set[int] = field(default_factory=set)  # addresses of surfaces drawn since a flush of the render cache
    written: set[int] = field(default_factory=set)  # addresses that data ports wrote since a flush
    blocks: dict[tuple[int, int, str], None] = field(default_factory=dict)  # state in use since the last stall
    gathers: dict[str, _Gather] = field(default_factory=dict)  # that must be repeated, by stage
    stale_pool: bool = False  # the streamer was switched on since the pool was allocated


class LaterLinter:
    """Looks at the commands of one decoder as they come."""

    def __init__(self, device: Device, context: Context, peek: MemoryReader) -> None:
        self.device, self.gen, self.context, self.peek = device, device.gen, context, peek
        self.engine = "render"
        self._states: dict[int, _Order] = {}
        self._rules: dict[Layout, tuple[CommandRule, ...]] = {}
        self._draw_rules = tuple(rule for rule in (*DRAW_RULES, *SURFACE_RULES) if rule.gens & self.gen)
        self._reaches: dict[Hashable, Reach] = {}  # of this submission, by units and pointers
        self._last: View | None = None  # the command before, of any kind
        self._last_name = ""

    def submission(self, engine: str) -> None:
        """The kernel stalls, flushes and invalidates between submissions."""
        self.engine = engine
        self._last, self._last_name = None, ""
        self._reaches.clear()
        for state in self._states.values():
            state.worked, state.walker = False, ""
            state.flushed = state.flushed_3d = state.scoreboard = True
            for known in (state.high_bits, state.uninvalidated, state.unread, state.rendered, state.written,
                          state.blocks):
                known.clear()

    def batch(self, node: BatchStart) -> None:
        """No rule is about the start of a batch."""

    def find(self, node: Node, rule: str, text: str) -> None:
        node.diagnostics.append(Diagnostic(RULES[rule].severity, rule, node.address, node.title, text))

    def command(self, node: Command) -> None:
        layout = node.body.layout
        if not isinstance(layout, Layout):
            return
        name, view = layout.name, node.body.view
        state = self._states.get(self.context.number)
        if state is None:
            state = self._states[self.context.number] = _Order(self.gen)
        for rule in self._rules_of(layout, view):
            text = rule.broken(view)
            if text:
                self.find(node, rule.rule, text)
        self._engine(node, layout)
        order = _ORDER_RULES.get(name)
        if order is not None:
            order(self, node, view, state)
        if name == "3DSTATE_VERTEX_BUFFERS" and self.gen & _GEN8_ON:
            _vertex_buffers(self, node, view, state)
        if layout.draws and layout.client != Client.BLT:
            self._draw(node, view, state)
        elif name.startswith(_STREAMER_COMMANDS):
            _streamed(self, node, view, state)
        elif name.startswith("3DSTATE_CONSTANT_"):
            _constants(self, node, view, state)
        elif name in _STORES:
            _store(self, node, view, state)
        state.serial += 1
        state.commands[name], state.serials[name] = view, state.serial
        state.stale.discard(name)
        self._last, self._last_name = view, name

    def _rules_of(self, layout: Layout, view: View) -> tuple[CommandRule, ...]:
        found = self._rules.get(layout)
        if found is None:
            found = self._rules[layout] = tuple(
                rule for rule in COMMAND_RULES if layout.name in rule.commands and rule.applies(view))
        return found

    def _engine(self, node: Command, layout: Layout) -> None:
        if layout.client == Client.BLT and self.engine == "render":
            self.find(node, "wrong-engine", "a 2D command on the render engine")
        elif layout.name.startswith("3D") and self.engine != "render":
            self.find(node, "wrong-engine", f"a 3D command on the engine {self.engine}")

    def _draw(self, node: Command, view: View, state: _Order) -> None:
        wanted = "3D" if layout_is_3d(node) else "GPGPU" if node.body.name.startswith("GPGPU") else "media"
        if state.pipeline != wanted and not (wanted == "media" and state.pipeline == "GPGPU"):
            self.find(node, "wrong-pipeline", f"while {state.pipeline} is selected")
        if wanted == "3D":
            self._primitive(node, view, state)
        else:
            state.walker = node.body.name
        state.worked, state.flushed, state.flushed_3d = True, False, False
        state.unread = set(_READ_CACHES)
        state.so_buffers.clear()

    def _primitive(self, node: Command, view: View, state: _Order) -> None:
        for name in sorted(state.stale):
            if self._is_used(name, state):
                self.find(node, "stale-pointers", f"no {name} since STATE_BASE_ADDRESS")
                state.stale.discard(name)
        if state.uninvalidated and state.gen & _GEN8_ON:
            self.find(node, "base-invalidate", f"no PIPE_CONTROL invalidates the caches of "
                                               f"{', '.join(sorted(state.uninvalidated))} since STATE_BASE_ADDRESS")
            state.uninvalidated.clear()
        state.draw = view
        reach = state.reach = self._reach()
        key = (*[id(v.words) for v in state.commands.values()], *view.words[view.at:view.at + 2], reach.key)
        if key not in state.checked:
            if len(state.checked) >= _CHECKED_KEPT:
                state.checked.clear()
            state.checked[key] = None
            for rule in self._draw_rules:
                for text in rule.check(state, self.context, self.peek):
                    self.find(node, rule.rule, text)
        self._since_the_last(node, state)
        self._memory(node, view, state, reach)
        state.drawn |= bool(view.raw("vertex_count_per_instance"))

    def _memory(self, node: Command, view: View, state: _Order, reach: Reach) -> None:
        """Surfaces that earlier primitives wrote, and state that later commands must not."""
        targets = {int(surface.surface_base_address) for _, _, surface in reach.drawn()}
        for place, surface, _, _ in reach.textures:
            address = int(surface.surface_base_address)
            if address in state.rendered and address not in targets:
                self.find(node, "feedback", f"{place} at 0x{address:08x} was drawn, and the render cache not flushed")
                state.rendered.discard(address)
        state.rendered |= targets
        coherent = flag(view, "uav_coherency_required")
        written = set()
        for place, surface, writes in reach.memory:
            address = int(surface.surface_base_address)
            if address in state.written and not coherent:
                self.find(node, "uav-coherency", f"{place} at 0x{address:08x} was written by an earlier primitive")
                state.written.discard(address)
            if writes:
                written.add(address)
        state.written |= written
        if len(state.blocks) < _CHECKED_KEPT:
            state.blocks.update(dict.fromkeys(reach.blocks))
        if state.gathers:
            stages = ", ".join(sorted(state.gathers))
            self.find(node, "gather-again", f"the gather of {stages} was not repeated without valid bits")
            state.gathers.clear()

    def _reach(self) -> Reach:
        context = self.context
        key = (context.units_key(), tuple(context.gates.items()), context.key(),
               tuple([(name, p.base, p.offset) for name, p in context.pending.items()]))
        found = self._reaches.get(key)
        if found is None:
            if len(self._reaches) >= _CHECKED_KEPT:
                self._reaches.clear()
            found = self._reaches[key] = Reach(self.gen, context, self.peek)
        return found

    def _is_used(self, name: str, state: _Order) -> bool:
        """Whether a draw looks where these pointers lead: at tables only if a kernel names an entry."""
        stages = (name.rpartition("_")[2].lower(),) if name.endswith(STAGES) else ("vs", "gs", "ps")
        uses = [unit.use for stage in stages if (unit := self.context.running(stage)) is not None and unit.use]
        if "BINDING_TABLE" in name:
            return any(use.surfaces for use in uses)
        if "SAMPLER" in name:
            return any(use.samplers for use in uses)
        if "VIEWPORT" in name:
            return bool(state.value("3DSTATE_SF", "viewport_transform_enable", True))
        return "SCISSOR" not in name

    def _since_the_last(self, node: Command, state: _Order) -> None:
        """State that may change only after a stall or a flush."""
        threads = int(state.value("3DSTATE_PS", "maximum_number_of_threads_per_psd", 0))
        if state.threads and threads != state.threads and not state.scoreboard:
            self.find(node, "threads-change", f"{threads} threads after {state.threads}, without a stall at the "
                                              "scoreboard")
        state.threads, state.scoreboard = threads, False
        gs = state.get("3DSTATE_GS")
        if not state.stalled_gs and gs is not None and state.is_on("GS") and has(gs, "dispatch_mode") and \
                str(getattr(gs.dispatch_mode, "name", "")) == "SIMD8" and \
                state.value("3DSTATE_URB_GS", "gs_number_of_urb_entries", 16) < 16:
            self.find(node, "gs-stall", "SIMD8 with fewer than 16 URB entries, and no stall since 3DSTATE_GS")
        if not state.stalled_ds and state.is_on("DS"):
            self.find(node, "push-stall", "no stall since 3DSTATE_PUSH_CONSTANT_ALLOC_DS")
            state.stalled_ds = True
        if state.gen & Gen.GEN9:
            for stage in STAGES:
                view = state.get(f"3DSTATE_CONSTANT_{stage}")
                sizes = () if view is None else tuple(
                    int(getattr(view, f"constant_buffer_{i}_read_length")) for i in range(4))
                old = state.constants.get(stage, ())
                if old and sizes and not old[3] and sizes[0] and not state.flushed_3d:
                    self.find(node, "constants-slots", f"{stage}: buffer 0 after a set without buffer 3, and no "
                                                       "flush between")
                state.constants[stage] = sizes


def layout_is_3d(node: Command) -> bool:
    return node.body.name == "3DPRIMITIVE"


_Rule = Callable[[LaterLinter, Command, Any, _Order], None]


def _pipe_control(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    stall, write = flag(view, "command_streamer_stall_enable"), view.raw("post_sync_operation")
    if view.gen & Gen.GEN9 and flag(view, "vf_cache_invalidation_enable"):
        previous = lint._last
        empty = previous is not None and not any(previous.words[previous.at + 1:previous.at + previous.dwords])
        if lint._last_name != "PIPE_CONTROL" or not empty:
            lint.find(node, "vf-invalidate", "vf_cache_invalidation_enable without an empty PIPE_CONTROL before it")
        elif not write:
            lint.find(node, "vf-invalidate", "vf_cache_invalidation_enable without a post-sync operation")
    if state.pipeline == "GPGPU" and view.gen & _GEN8_ON:
        if write and not stall and state.worked:
            lint.find(node, "gpgpu-post-sync", "a post-sync operation without a stall before it")
        if flag(view, "texture_cache_invalidation_enable") and not stall and state.worked:
            lint.find(node, "gpgpu-post-sync", "texture_cache_invalidation_enable without a stall")
    if stall:
        state.worked, state.stalled_gs, state.stalled_ds = False, True, True
        state.blocks.clear()
    if flag(view, "render_target_cache_flush_enable"):
        state.rendered.clear()
    if stall or flag(view, "dc_flush_enable"):
        state.written.clear()
    if stall or flag(view, "render_target_cache_flush_enable"):
        state.flushed = state.flushed_3d = True
    if flag(view, "stall_at_pixel_scoreboard") or stall:
        state.scoreboard = True
    for cache in _READ_CACHES:
        if flag(view, f"{cache}_cache_invalidation_enable"):
            state.uninvalidated.discard(cache)
            state.unread.discard(cache)
    if flag(view, "vf_cache_invalidation_enable"):
        state.high_bits.clear()


def _flush(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    """MI_FLUSH of Gen6 and Gen7: waits for all work, and writes the render cache back unless a bit inhibits it."""
    state.worked, state.scoreboard, state.stalled_gs, state.stalled_ds = False, True, True, True
    state.blocks.clear()
    state.written.clear()
    if not view.render_cache_flush_inhibit:
        state.flushed = state.flushed_3d = True
        state.rendered.clear()


def _select(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    to = lint.context.pipeline
    if to != state.pipeline and state.worked:
        lint.find(node, "select-flush", f"switches to {to} without a PIPE_CONTROL that stalls after the last work")
    elif to != state.pipeline and state.unread and lint.gen & _GEN8_ON:
        lint.find(node, "select-invalidate", f"switches to {to} without an invalidation of the caches of "
                                             f"{', '.join(sorted(state.unread))} after the last work")
    state.pipeline = to


def _bases(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    if state.worked and not state.flushed:
        lint.find(node, "base-flush", "comes after work that no PIPE_CONTROL has flushed")
    if flag(view, "surface_state_base_address_modify_enable"):
        state.uninvalidated = set(_READ_CACHES)
        state.stale |= {name for name in state.commands if name.startswith("3DSTATE_BINDING_TABLE_POINTERS")}
    old = state.get("STATE_BASE_ADDRESS")
    if flag(view, "dynamic_state_base_address_modify_enable") and old is not None and \
            old.dynamic_state_base_address != view.dynamic_state_base_address:
        state.stale |= {name for name in state.commands if "_STATE_POINTERS" in name}
    if old is not None and old.surface_state_base_address == view.surface_state_base_address:
        state.stale = {name for name in state.stale if not name.startswith("3DSTATE_BINDING_TABLE_POINTERS")}


def _vfe(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    old = state.get("MEDIA_VFE_STATE")
    if state.worked and (old is None or _without_scoreboard(old) != _without_scoreboard(view)):
        lint.find(node, "vfe-stall", "comes after work without a PIPE_CONTROL that stalls")


def _without_scoreboard(view: View) -> list[tuple[str, int]]:
    return [(f.name, raw) for f, raw in view.fields() if not f.name.startswith("scoreboard")]


def _media_load(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    if state.walker and state.worked:
        lint.find(node, "walker-flush", f"comes after {state.walker} without MEDIA_STATE_FLUSH")


def _state_flush(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    state.walker = ""


def _so_buffer(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    index = int(view.so_buffer_index)
    if index in state.so_buffers:
        lint.find(node, "so-buffer-twice", f"buffer {index} was set already since the last primitive")
    state.so_buffers.add(index)


def _vertex_buffers(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    """The cache of the vertex fetcher compares 32 bits of an address."""
    for buffer in view.vertex_buffers:
        if not buffer.buffer_size or flag(buffer, "null_vertex_buffer"):
            continue
        index, high = int(buffer.vertex_buffer_index), int(buffer.buffer_starting_address) >> 32 & 0xFFFF
        if state.high_bits.get(index, high) != high:
            lint.find(node, "vertex-cache", f"buffer {index} moves to another 4 GiB without "
                                            "vf_cache_invalidation_enable")
        state.high_bits[index] = high


def _registers(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    registers = next((r for gens, r in _L3_REGISTERS.items() if gens & lint.gen), ())
    if state.worked and any(int(write.register_offset) in registers for write in view.writes):
        lint.find(node, "l3-idle", "configures L3 after work without a PIPE_CONTROL that stalls")
    if lint.gen & Gen.GEN9:
        chicken = catalogue_of(lint.gen).register("CS_CHICKEN1")
        for write in view.writes:
            if int(write.register_offset) == chicken.offset:
                value: Any = chicken.view((int(write.data),), gen=lint.gen)
                if value.raw("mask") & 1:
                    state.object_preemption = bool(value.raw("replay_mode"))


def _gs(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    state.stalled_gs = False


def _chroma_key(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    state.chroma_keys[int(view.chroma_key_table_index)] = view


def _alloc_ds(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    state.stalled_ds = False


# --- the resource streamer --------------------------------------------------------------------------------------------
def _streamer(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    _switch_streamer(state, bool(view.raw("resource_streamer_control")))


def _batch_start(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    _switch_streamer(state, flag(view, "resource_streamer_enable"))


def _switch_streamer(state: _Order, on: bool) -> None:
    state.stale_pool |= on and not state.streamer
    state.streamer = on


def _pool(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    if view.binding_table_pool_enable and not state.streamer:
        lint.find(node, "resource-streamer", "enables the pool while the resource streamer is off")
    state.stale_pool = False


def _streamed(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    """A command that the resource streamer executes."""
    name = node.body.name
    if not state.streamer:
        lint.find(node, "resource-streamer", "while the resource streamer is off")
    elif not state.value("3DSTATE_BINDING_TABLE_POOL_ALLOC", "binding_table_pool_enable", False):
        lint.find(node, "resource-streamer", "while the binding table pool is off")
    elif state.stale_pool:
        lint.find(node, "pool-order", "no 3DSTATE_BINDING_TABLE_POOL_ALLOC since the resource streamer was switched on")
        state.stale_pool = False
    stage = name.rpartition("_")[2]
    if name.startswith("3DSTATE_GATHER_CONSTANT"):
        _gather(lint, node, view, state, stage)
    elif name.startswith("3DSTATE_DX9_GENERATE_ACTIVE") and not any(
            f"3DSTATE_DX9_CONSTANT{kind}_{stage}" in state.commands for kind in "FIB"):
        lint.find(node, "dx9-constants", f"no constant of {stage} was set")


def _gather(lint: LaterLinter, node: Command, view: Any, state: _Order, stage: str) -> None:
    valid, old = int(view.constant_buffer_valid), state.get(node.body.name)
    kept = None if old is None else int(old.constant_buffer_valid)
    if has(view, "on_die_table") and view.raw("on_die_table") and kept != valid:
        lint.find(node, "gather-on-die", f"valid bits 0x{valid:04x}; the table on the die has "
                                         f"{'none' if kept is None else f'0x{kept:04x}'}")
    waiting = state.gathers.get(stage)
    if valid and lint.gen & Gen.GEN9:
        state.gathers[stage] = _Gather()
    elif waiting is not None and waiting.stores >= _GATHER_STORES and len(view.entries) <= 1:
        waiting.repeated = True


def _constants(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    name, stage = node.body.name, node.body.name.rpartition("_")[2]
    if state.value("3DSTATE_GATHER_POOL_ALLOC", "gather_pool_enable", False) and \
            state.serials.get(f"3DSTATE_GATHER_CONSTANT_{stage}", 0) <= state.serials.get(name, 0):
        lint.find(node, "gather-order", f"no 3DSTATE_GATHER_CONSTANT_{stage} before it, and the gather pool is on")
    waiting = state.gathers.get(stage)
    if waiting is not None and waiting.repeated and waiting.constants == tuple(view.words):
        del state.gathers[stage]
    elif waiting is not None and not waiting.repeated:
        waiting.constants = tuple(view.words)


def _rs_store(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    for waiting in state.gathers.values():
        waiting.stores += 1


# --- depth operations, stores to state --------------------------------------------------------------------------------
_HIZ_OPERATIONS = ("stencil_buffer_clear_enable", "depth_buffer_clear_enable", "depth_buffer_resolve_enable",
                   "hierarchical_depth_buffer_resolve_enable")


def _hiz_operation(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    count = view.raw("number_of_multisamples")
    if any(flag(view, name) for name in _HIZ_OPERATIONS) and state.get("3DSTATE_MULTISAMPLE") is not None and \
            count != state.samples:
        lint.find(node, "hiz-samples", f"{1 << count} samples, 3DSTATE_MULTISAMPLE has {1 << state.samples}")


def _multisample(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    operation = state.get("3DSTATE_WM_HZ_OP")
    if operation is not None and any(flag(operation, name) for name in _HIZ_OPERATIONS) and \
            view.raw("number_of_multisamples") != state.samples:
        lint.find(node, "hiz-samples", "changes the number of samples before the operation of 3DSTATE_WM_HZ_OP ends")


def _store(lint: LaterLinter, node: Command, view: Any, state: _Order) -> None:
    name = next(n for n in ("address", "memory_address", "destination_memory_address") if has(view, n))
    start, size = int(getattr(view, name)) & lint.context.mask, 4 * max(1, len(view.words) - _STORES[node.body.name])
    for first, end, block in state.blocks:
        if start < end and first < start + size:
            lint.find(node, "state-rewritten", f"writes to {block} at 0x{first:08x}, which earlier primitives use")
            break


_ORDER_RULES: dict[str, _Rule] = {
    "PIPE_CONTROL": _pipe_control,
    "MI_FLUSH": _flush,
    "PIPELINE_SELECT": _select,
    "STATE_BASE_ADDRESS": _bases,
    "MEDIA_VFE_STATE": _vfe,
    "MEDIA_CURBE_LOAD": _media_load,
    "MEDIA_INTERFACE_DESCRIPTOR_LOAD": _media_load,
    "MEDIA_STATE_FLUSH": _state_flush,
    "3DSTATE_SO_BUFFER": _so_buffer,
    "MI_LOAD_REGISTER_IMM": _registers,
    "3DSTATE_GS": _gs,
    "3DSTATE_CHROMA_KEY": _chroma_key,
    "3DSTATE_WM_HZ_OP": _hiz_operation,
    "3DSTATE_MULTISAMPLE": _multisample,
    "MI_RS_STORE_DATA_IMM": _rs_store,
    "3DSTATE_PUSH_CONSTANT_ALLOC_DS": _alloc_ds,
    "MI_RS_CONTROL": _streamer,
    "MI_BATCH_BUFFER_START": _batch_start,
    "3DSTATE_BINDING_TABLE_POOL_ALLOC": _pool,
}
