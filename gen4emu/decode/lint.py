"""Rules that commands must keep and that the hardware does not check (`gen4emu lint`): order, alignment, capacity.

One function a rule, one table from commands to rules.  `lint_rules` has the names and severities.  A finding is
attached to the node that breaks the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gen4emu.decode.context import Context, Unit
from gen4emu.decode.kernels import Kernels, sends
from gen4emu.decode.lint_rules import RULES
from gen4emu.decode.nodes import BatchStart, Command, Diagnostic, Kernel, KernelCode, Node, State
from gen4emu.hw.chips import Device
from gen4emu.hw.formats import format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.common import is_media
from gen4emu.hw.gen4.message_shapes import RENDER_TARGET_WRITE_SHAPES, expected_lengths, message_for, sampler_message
from gen4emu.hw.gen4.messages import DataPortWriteTypeGen4, SharedFunction, UrbSwizzle
from gen4emu.hw.gen4.sampler import MapFilter
from gen4emu.hw.gen4.surface import SurfaceType
from gen4emu.hw.layout import Command as Layout
from gen4emu.hw.layout import View
from gen4emu.hw.topology import ADJACENCY_TOPOLOGIES, CUT_INDEX_TOPOLOGIES, GS_OUTPUT_TOPOLOGIES
from gen4emu.isa import instructions
from gen4emu.isa.instruction import Align1Region, DirectOperand, IndirectOperand, Instruction, Operand
from gen4emu.isa.registers import RegFile

_POINTERS_3D = frozenset({"3DSTATE_PIPELINED_POINTERS", "3DSTATE_BINDING_TABLE_POINTERS"})
_POINTERS_MEDIA = frozenset({"MEDIA_STATE_POINTERS"})
_FENCE_ORDER_3D = ("vs", "gs", "clip", "sf", "cs")
_LINE = 64  # bytes that URB_FENCE must lie within


@dataclass(slots=True)
class _State:
    """State of earlier commands that the rules use."""

    pipeline: str = "3D"
    drained: bool = True  # nothing was drawn since the last flush
    fence_needed: bool = False
    stale: set[str] = field(default_factory=set)
    fences: dict[str, int] = field(default_factory=dict)
    constant_entries: tuple[int, int] | None = None  # number and size of CS entries
    constants: int | None = None  # units of 64 bytes that are loaded
    unwritten: set[int] = field(default_factory=set)  # addresses of constants without contents, in this submission
    constants_unwritten: bool = False  # the loaded ones have none
    units_checked: tuple[Any, ...] = ()
    last: str = ""
    in_batch: bool = False
    secure: bool = False


class Linter:
    """Looks at the commands of one decoder as they come."""

    def __init__(self, device: Device, context: Context, kernels: Kernels) -> None:
        self.device, self.gen, self.context, self.kernels = device, device.gen, context, kernels
        self.state = _State()
        self.shading = Shading(device.gen)

    def batch(self, node: BatchStart) -> None:
        self.state.in_batch = True

    def submission(self, engine: str) -> None:
        self.state.in_batch = False
        self.state.unwritten.clear()

    def command(self, node: Command) -> None:
        layout = node.body.layout
        for child in node.walk() if node.children else ():
            if isinstance(child, State):
                _block(self, child)
                self.shading.saw(child)
            elif isinstance(child, Kernel) and child.first:
                _kernel(self, child)
        if isinstance(layout, Layout):
            view = node.body.view
            if layout.privileged and self.state.in_batch and not self.state.secure:
                self.find(node, "privileged", "hardware ignores it in a batch that is not secure; gen4emu executes it")
            for rule in _RULES.get(layout.name, ()):
                rule(self, node, view)
            if "BLT" in layout.name:
                _blit(self, node, view)
        if self.state.last == "MI_SET_CONTEXT" and node.body.name != "MI_NOOP":
            self.find(node, "set-context-noop", "follows MI_SET_CONTEXT: MI_NOOP must come between")
        self.state.last = node.body.name

    def find(self, node: Node, rule: str, text: str, name: str = "", value: int | None = None) -> None:
        node.diagnostics.append(Diagnostic(RULES[rule].severity, rule, node.address, node.title, text, name, value))


_Rule = Callable[[Linter, Command, View], None]


# --- pipeline, flushes, base addresses ------------------------------------------------------------------------------
def _select(lint: Linter, node: Command, view: View) -> None:
    """Flush before switching pipelines, send URB_FENCE after."""
    to = "media" if is_media(view) else "3D"
    state = lint.state
    if to == state.pipeline:
        return
    if not state.drained:
        lint.find(node, "select-flush", f"switches to {to} without MI_FLUSH or PIPE_CONTROL after the last work")
    state.pipeline, state.fence_needed = to, True


def _flush(lint: Linter, node: Command, view: View) -> None:
    lint.state.drained = True


def _bases(lint: Linter, node: Command, view: View) -> None:
    """Pointers must be sent again after new bases."""
    lint.state.stale = set(_POINTERS_3D | _POINTERS_MEDIA)


def _pointers(lint: Linter, node: Command, view: View) -> None:
    lint.state.stale.discard(node.body.name)


def _media_pointers(lint: Linter, node: Command, view: View) -> None:
    """The two enables must agree (G45 PRM vol. 2, 10.7.1)."""
    _pointers(lint, node, view)
    vfe = lint.context.vfe
    if vfe is not None and "extended_vfe_state_present" in vfe.layout.by_name(lint.gen):
        present, enabled = bool(vfe.extended_vfe_state_present), bool(view.extended_vfe_state_enable)
        if present != enabled:
            lint.find(node, "extended-vfe-state", f"extended_vfe_state_enable is {enabled}, VFE_STATE says {present}")


def _batch_start(lint: Linter, node: Command, view: View) -> None:
    lint.state.secure = not view.non_secure and not lint.state.in_batch and bool(view.raw("memory_space"))


# --- URB and constants ----------------------------------------------------------------------------------------------
def _fence(lint: Linter, node: Command, view: View) -> None:
    """Fences rise and end within the URB, and the command does not cross a 64-byte line."""
    state, rows = lint.state, lint.device.urb_rows
    state.fence_needed = False
    for unit in ("vs", "gs", "clip", "sf", "vfe", "cs"):
        if getattr(view, f"{unit}_urb_reallocation_request"):
            state.fences[unit] = int(getattr(view, f"{unit}_fence"))
    order = _FENCE_ORDER_3D if state.pipeline == "3D" else ("vfe", "cs")
    last, last_unit = 0, ""
    for unit in order:
        fence = state.fences.get(unit)
        if fence is None:
            continue
        if fence < last:
            lint.find(node, "urb-overlap", f"the region of {unit} ends at row {fence}, that of {last_unit}, which "
                                           f"precedes it, at row {last}", f"{unit}_fence", fence)
        elif fence > rows:
            lint.find(node, "urb-capacity", f"the region of {unit} ends at row {fence}; the URB has {rows} rows",
                      f"{unit}_fence", fence)
        last, last_unit = max(last, fence), unit
    if node.address % _LINE + 4 * len(node.body.words) > _LINE:
        lint.find(node, "urb-fence-line", "crosses a 64-byte line")


def _constant_entries(lint: Linter, node: Command, view: View) -> None:
    lint.state.constant_entries = int(view.number_of_urb_entries), int(view.urb_entry_allocation_size)
    lint.state.constants = None


def _constants(lint: Linter, node: Command, view: View) -> None:
    """CS_URB_STATE comes first, and the constants fit one entry."""
    state = lint.state
    state.constants = int(view.buffer_length) if view.valid else None
    start = int(view.buffer_starting_address)
    if any(d.rule == "unset-constants" for d in node.diagnostics):
        state.unwritten.add(start)
    state.constants_unwritten = start in state.unwritten
    if not view.valid:
        return
    if state.constant_entries is None:
        lint.find(node, "constants-order", "comes before any CS_URB_STATE")
        return
    number, size = state.constant_entries
    if not number:
        lint.find(node, "constants-entries", "CS_URB_STATE reserved no entry")
    elif view.buffer_length > size:
        lint.find(node, "constants-length", f"{view.buffer_length} rows do not fit an entry of {size}",
                  "buffer_length", int(view.buffer_length))


# --- vertex input ---------------------------------------------------------------------------------------------------
def _vertex_buffers(lint: Linter, node: Command, view: View) -> None:
    seen: set[int] = set()
    for buffer in view.vertex_buffers:
        index = int(buffer.vertex_buffer_index)
        if index in seen:
            lint.find(node, "vertex-buffer-twice", f"buffer {index} is listed twice", "vertex_buffer_index", index)
        seen.add(index)


def _vertex_elements(lint: Linter, node: Command, view: View) -> None:
    """The destination vertex has no holes and is written in order."""
    elements = [e for e in view.vertex_elements if e.valid]
    if not elements:
        lint.find(node, "no-vertex-elements", "no valid element")
    expected = 0
    for i, e in enumerate(elements):
        info = format_info(e.raw("source_element_format"))
        if info is not None and not info.support.vertex_fetch & lint.gen:
            lint.find(node, "vertex-format", f"element {i}: {info.name} cannot be fetched", "source_element_format")
        if info is not None and "R64" in info.name and int(e.source_element_offset) % 8:
            lint.find(node, "vertex-alignment", f"element {i}: 64-bit data at offset {e.source_element_offset}",
                      "source_element_offset", int(e.source_element_offset))
        start = int(e.destination_element_offset)
        stored = [i for i in range(4) if e.raw(f"component_{i}_control")]
        if start != expected:
            what = "leaves a hole before" if start > expected else "goes back to"
            lint.find(node, "vertex-order", f"element {i} {what} dword {start}; the last one ended at {expected}",
                      "destination_element_offset", start)
        if stored != list(range(len(stored))):
            lint.find(node, "vertex-order", f"element {i} stores components {stored}: those between keep old contents")
        expected = start + (stored[-1] + 1 if stored else 0)


def _index_buffer(lint: Linter, node: Command, view: View) -> None:
    size = 1 << view.raw("index_format")
    start, end = int(view.buffer_starting_address), int(view.buffer_ending_address)
    if start % size:
        lint.find(node, "index-alignment", f"starts at 0x{start:08x}; indices have {size} bytes",
                  "buffer_starting_address", start)
    if end and end < start:
        lint.find(node, "index-range", f"ends at 0x{end:08x}, before it starts", "buffer_ending_address", end)


def _depth_buffer(lint: Linter, node: Command, view: View) -> None:
    """Alignment, pitch and tiling (G45 PRM vol. 2, 8.4.4.1)."""
    if view.raw("surface_type") == 7:
        return
    base, pitch = int(view.surface_base_address), int(view.surface_pitch)
    align, step = (4096, 128) if view.tiled_surface else (64, 64)
    if base % align:
        lint.find(node, "depth-alignment", f"base 0x{base:08x} is not aligned to {align}", "surface_base_address", base)
    if pitch % step:
        lint.find(node, "depth-pitch", f"pitch {pitch} is not a multiple of {step}", "surface_pitch", pitch)


# --- work -----------------------------------------------------------------------------------------------------------
def _work(lint: Linter, node: Command, pipeline: str, pointers: frozenset[str]) -> None:
    """Rules for all commands that start threads."""
    state = lint.state
    state.drained = False
    if state.pipeline != pipeline:
        lint.find(node, "wrong-pipeline", f"while {state.pipeline} is selected")
    if state.fence_needed:
        lint.find(node, "fence-after-select", "no URB_FENCE since PIPELINE_SELECT switched")
        state.fence_needed = False
    for name in sorted(state.stale & pointers):
        lint.find(node, "stale-pointers", f"no {name} since STATE_BASE_ADDRESS")
        state.stale.discard(name)


def _primitive(lint: Linter, node: Command, view: View) -> None:
    _work(lint, node, "3D", _POINTERS_3D)
    context = lint.context
    topology = view.primitive_topology_type
    gs, clip = "gs" in context.units, "clip" in context.units
    if not getattr(view, "vertex_count_per_instance", 1):
        lint.find(node, "no-vertices", "draws nothing", "vertex_count_per_instance", 0)
    if not context.vertex_elements:
        lint.find(node, "no-vertex-elements", "no 3DSTATE_VERTEX_ELEMENTS with a valid element")
    indices = context.index_buffer
    random = view.raw("vertex_access_type")
    if random and indices is not None and indices.cut_index_enable and topology not in CUT_INDEX_TOPOLOGIES:
        lint.find(node, "cut-index", f"cut indices are undefined with {_name(topology)}")
    if not gs and topology in ADJACENCY_TOPOLOGIES and not clip:
        lint.find(node, "adjacency", f"{_name(topology)} needs GS or CLIP to remove the adjacent vertices")
    elif not gs and topology not in GS_OUTPUT_TOPOLOGIES and topology not in ADJACENCY_TOPOLOGIES:
        lint.find(node, "topology-needs-gs", f"{_name(topology)} needs GS to convert it")
    _capacity(lint, node)
    lint.shading.check(lint, node)


def _name(topology: Any) -> str:
    return str(getattr(topology, "name", topology))


def _capacity(lint: Linter, node: Command) -> None:
    """Every unit's entries fit its region; its payload fits the registers; minimal numbers."""
    state, units = lint.state, lint.context.units
    key = (tuple((s, u.body) for s, u in units.items()), tuple(state.fences.items()), state.constants,
           state.constants_unwritten)
    if key == state.units_checked:
        return
    state.units_checked = key
    start = 0
    for stage in ("vs", "gs", "clip", "sf"):
        fence = state.fences.get(stage)
        unit = units.get(stage)
        if fence is None:
            continue
        if unit is not None:
            view = unit.body.view
            need = int(view.number_of_urb_entries) * int(view.urb_entry_allocation_size)
            if need > fence - start:
                lint.find(node, "urb-region", f"{stage} has {view.number_of_urb_entries} entries of "
                                              f"{view.urb_entry_allocation_size} rows in a region of {fence - start}")
        start = fence
    if state.constant_entries is not None and "cs" in state.fences:
        number, size = state.constant_entries
        if number * size > max(0, state.fences["cs"] - start):
            lint.find(node, "urb-region", f"cs has {number} entries of {size} rows in a region of "
                                          f"{max(0, state.fences['cs'] - start)}")
    for stage, unit in units.items():
        if unit.use is not None:
            _payload(lint, node, stage, unit)


_VERTICES = {"vs": 2, "gs": 6, "clip": 3, "sf": 3, "ps": 1}


def _payload(lint: Linter, node: Command, stage: str, unit: Unit) -> None:
    view = unit.body.view
    entry = "setup" if stage == "ps" else "vertex"
    constants = int(view.constant_urb_entry_read_length)
    reads = int(getattr(view, f"{entry}_urb_entry_read_length"))
    vertices = 1 if stage == "vs" and view.single_program_flow else _VERTICES[stage]
    need = int(view.dispatch_grf_start_register) + constants + (reads if stage == "gs" else reads * vertices)
    if need > int(view.grf_register_count):
        lint.find(node, "payload", f"{stage} threads start with {need} registers and have {view.grf_register_count}")
    loaded = lint.state.constants
    last = int(view.constant_urb_entry_read_offset) + constants
    if constants and loaded is None:
        lint.find(node, "constants-missing", f"{stage} reads constants, but no CONSTANT_BUFFER is valid")
    elif constants and loaded is not None and last > 2 * loaded:
        lint.find(node, "constants-missing", f"{stage} reads constants to row {last}, the buffer has {2 * loaded}")
    elif constants and lint.state.constants_unwritten and unit.kernel is not None and \
            reads_registers(unit.kernel, lint.gen, int(view.dispatch_grf_start_register), constants):
        lint.find(node, "constants-unwritten", f"{stage} kernel {unit.kernel.number} reads constants, and the trace "
                                               "never wrote the memory they come from")
    minimum = {"clip": 5, "gs": 5}.get(stage)
    if minimum is not None and int(view.number_of_urb_entries) < minimum:
        lint.find(node, "urb-minimum", f"{stage} has {view.number_of_urb_entries} entries, strips and fans need "
                                       f"{minimum}")


def _media_object(lint: Linter, node: Command, view: View) -> None:
    _work(lint, node, "media", _POINTERS_MEDIA)
    vfe = lint.context.vfe
    if vfe is None:
        return
    mode = str(getattr(vfe.vfe_mode, "name", vfe.vfe_mode))
    extended = node.body.name == "MEDIA_OBJECT_EX"
    plain = node.body.name == "MEDIA_OBJECT"
    if (plain and mode in ("AVC_MC", "AVC_IT", "VC1_IT")) or (extended and mode in ("VLD", "IS")):
        lint.find(node, "media-mode", f"is not allowed in mode {mode}")
    if mode == "VLD" and vfe.children_present:
        lint.find(node, "media-mode", "VFE_STATE: children_present in mode VLD")


# --- 2D -------------------------------------------------------------------------------------------------------------
def _blit(lint: Linter, node: Command, view: View) -> None:
    """Pitches and sizes of blits."""
    names = view.layout.by_name(lint.gen)
    deep = "color_depth" in names and view.raw("color_depth") == 3
    if deep and "write_rgb" in names and not (view.write_rgb or view.write_alpha):
        lint.find(node, "blit-mask", "writes neither color nor alpha: nothing happens")
    for side in ("destination", "source"):
        pitch = int(getattr(view, f"{side}_pitch")) if f"{side}_pitch" in names else 0
        base = int(getattr(view, f"{side}_base_address")) if f"{side}_base_address" in names else 0
        tiled = f"{side}_tiled" in names and getattr(view, f"{side}_tiled")
        if tiled and base % 4096:
            lint.find(node, "blit-alignment", f"tiled {side} at 0x{base:08x}", f"{side}_base_address", base)
        if not tiled and pitch % 4:
            lint.find(node, "blit-pitch", f"{side} pitch {pitch}: the low two bits are dropped", f"{side}_pitch", pitch)


# --- surfaces, samplers, kernels --------------------------------------------------------------------------------------
def _block(lint: Linter, node: State) -> None:
    """Rules for a state block that was not shown before."""
    if node.same:
        return
    view = node.body.view
    if node.body.name == "SURFACE_STATE":
        _surface(lint, node, view)
    elif node.body.name == "SAMPLER_STATE" and view.min_lod > view.max_lod:
        lint.find(node, "sampler-lod", f"min_lod {view.min_lod:g} is above max_lod {view.max_lod:g}", "min_lod")


def _surface(lint: Linter, node: State, view: View) -> None:
    kind = view.raw("surface_type")
    if kind in (SurfaceType.SURFTYPE_NULL, SurfaceType.SURFTYPE_BUFFER):
        return
    base, pitch = int(view.surface_base_address), int(view.surface_pitch)
    info = format_info(view.raw("surface_format"))
    if view.tiled_surface:
        tile = 128 if view.raw("tile_walk") else 512
        if base % 4096:
            lint.find(node, "surface-alignment", f"tiled, at 0x{base:08x}", "surface_base_address", base)
        if pitch % tile:
            lint.find(node, "surface-pitch", f"pitch {pitch} is not a multiple of {tile}", "surface_pitch", pitch)
    if info is None:
        return
    row = -(-int(view.width) // info.block_width) * info.block_bits // 8
    if row > pitch and not node.role.startswith("media"):
        lint.find(node, "surface-pitch", f"pitch {pitch} is less than a row of {row} bytes", "surface_pitch", pitch)
    if "render target" in node.role:
        _render_target(lint, node, view)
    elif "texture" in node.role and not info.support.sample & lint.gen:
        lint.find(node, "sampler-format", f"{info.name} cannot be sampled", "surface_format", int(info.format))


def _render_target(lint: Linter, node: State, view: View) -> None:
    info = format_info(view.raw("surface_format"))
    if info is None:
        return
    code = int(info.format)
    if not info.support.render_target & lint.gen:
        lint.find(node, "target-format", f"{info.name} cannot be a render target", "surface_format", code)
    elif view.color_blend_enable and not info.support.blend & lint.gen:
        lint.find(node, "blend-format", f"{info.name} cannot be blended", "surface_format", code)
    if view.vertical_line_stride:
        lint.find(node, "target-line-stride", "render target writes ignore vertical_line_stride")


# --- kernels --------------------------------------------------------------------------------------------------------
def _kernel(lint: Linter, node: Kernel) -> None:
    """Decision 26, and descriptors that no unit understands."""
    for rule, text in _messages(node.code.code, lint.gen):
        lint.find(node, rule, text)


@lru_cache(maxsize=1024)
def _messages(code: bytes, gen: Gen) -> tuple[tuple[str, str], ...]:
    """Rules that the messages of a kernel break, and what is wrong."""
    found: dict[tuple[str, str], list[int]] = {}
    for offset, send in sends(code, gen):
        for finding in _message(send, gen):
            found.setdefault(finding, []).append(offset)
    return tuple((rule, f"send at {', '.join(f'0x{o:04x}' for o in offsets[:8])}"
                        f"{', ...' if len(offsets) > 8 else ''}: {text}")
                 for (rule, text), offsets in found.items())


def _message(send: Instruction, gen: Gen) -> list[tuple[str, str]]:
    descriptor = send.descriptor
    if descriptor is None:
        return []
    found = []
    message = message_for(descriptor.bits, gen)
    if message is None:
        return [("message", f"SFID {descriptor.sfid} does not exist")]
    view = message.view((descriptor.bits,), gen=gen)
    found += [("message", str(c)) for c in message.complaints((descriptor.bits,), gen=gen)]
    if descriptor.eot and not (isinstance(send.dst, DirectOperand) and send.dst.file is RegFile.ARF):
        found.append(("eot-destination", "ends the thread with a general register as its destination"))
    elif descriptor.eot and not _is_null(send):
        found.append(("eot-accumulator", "ends the thread with a destination that is not null"))
    if send.base_mrf == 0 and message.sfid != SharedFunction.EXTENDED_MATH:
        found.append(("message-at-m0", "builds its message at m0, which is reserved for the system routine"))
    length, response = expected_lengths(descriptor.bits, gen)
    if length is not None and length != descriptor.mlen:
        found.append(("message-length", f"sends {descriptor.mlen} registers; the message has {length}"))
    if response is not None and response != descriptor.rlen:
        found.append(("message-length", f"expects {descriptor.rlen} registers; the response has {response}"))
    if message.sfid == SharedFunction.SAMPLER and sampler_message(descriptor.bits, gen) is None:
        found.append(("message", f"no sampler message has type {view.message_type} and {descriptor.mlen} registers"))
    if message.sfid == SharedFunction.DATA_PORT_WRITE and view.message_type == DataPortWriteTypeGen4.RENDER_TARGET:
        shape = RENDER_TARGET_WRITE_SHAPES.get(view.render_target_write_type)
        if shape is not None and shape.may_have_more and \
                descriptor.mlen == shape.message_length(stencil_or_alpha=True):
            found.append(("alpha-without-depth", "stencil or antialias alpha without source depth"))
    if message.sfid == SharedFunction.URB and view.swizzle_control == UrbSwizzle.INTERLEAVED and descriptor.mlen == 2:
        found.append(("urb-half-row", "an interleaved URB write of one register writes half a row"))
    return found


def _is_null(send: Instruction) -> bool:
    dst = send.dst
    return isinstance(dst, DirectOperand) and dst.file is RegFile.ARF and dst.nr == 0


@lru_cache(maxsize=1024)
def reads_registers(code: KernelCode, gen: Gen, first: int, count: int) -> bool:
    """Whether an instruction of a kernel reads one of `count` general registers; an indirect operand may read any."""
    return any(_reads(source, first, count, inst.channels) for _, inst in instructions(code.code, gen)
               for source in (inst.src0, inst.src1))


def _reads(source: Operand | None, first: int, count: int, channels: int) -> bool:
    if isinstance(source, IndirectOperand):
        return source.file is RegFile.GRF
    if not isinstance(source, DirectOperand) or source.file is not RegFile.GRF:
        return False
    scalar = isinstance(source.region, Align1Region) and not source.region.vstride and not source.region.hstride
    registers = 2 if channels > 8 and not scalar else 1  # that one operand may cover
    return first - registers < source.nr < first + count


# --- what kernels do to surfaces ------------------------------------------------------------------------------------


class Shading:
    """The surfaces and samplers of each stage, and the messages of its kernel that bring them together."""

    def __init__(self, gen: Gen) -> None:
        self.gen = gen
        self.surfaces: dict[str, View] = {}  # "ps texture 0" by stage and index: "ps 0"
        self.samplers: dict[str, View] = {}
        self.changed = False
        self._pairs: dict[int, tuple[tuple[str, int, int], ...]] = {}

    def saw(self, node: State) -> None:
        """Roles are `ps texture 3`, `ps sampler` or `ps sampler 1`."""
        words = node.role.split()
        if node.body.name not in ("SURFACE_STATE", "SAMPLER_STATE") or not words:
            return
        index = words[-1] if words[-1].isdigit() else "0"
        known = self.surfaces if node.body.name == "SURFACE_STATE" else self.samplers
        known[f"{words[0]} {index}"] = node.body.view
        self.changed = True

    def check(self, lint: Linter, node: Command) -> None:
        """Each sampler message of the current kernels against its surface and sampler."""
        if not self.changed:
            return
        self.changed = False
        for stage, unit in lint.context.units.items():
            if unit.kernel is None:
                continue
            for name, table_index, sampler_index in self._messages(unit.kernel):
                surface = self.surfaces.get(f"{stage} {table_index}")
                sampler = self.samplers.get(f"{stage} {sampler_index}")
                if surface is not None:
                    self._pair(lint, node, f"{stage} texture {table_index}", name, surface, sampler)

    def _messages(self, code: KernelCode) -> tuple[tuple[str, int, int], ...]:
        found = self._pairs.get(code.number)
        if found is None:
            pairs = []
            for _, send in sends(code.code, self.gen):
                descriptor = send.descriptor
                message = None if descriptor is None else sampler_message(descriptor.bits, self.gen)
                layout = None if descriptor is None else message_for(descriptor.bits, self.gen)
                if descriptor is not None and message is not None and layout is not None:
                    view = layout.view((descriptor.bits,), gen=self.gen)
                    pairs.append((message.name, int(view.binding_table_index), int(view.sampler_index)))
            found = self._pairs[code.number] = tuple(dict.fromkeys(pairs))
        return found

    def _pair(self, lint: Linter, node: Command, role: str, name: str, surface: View, sampler: View | None) -> None:
        kind = surface.raw("surface_type")
        if name.endswith("_c") and kind == SurfaceType.SURFTYPE_CUBE:
            lint.find(node, "shadow-cube", f"{role}: {name} of a cube; real G4x returns wrong data")
        if name == "ld" and kind == SurfaceType.SURFTYPE_3D and surface.mip_count_or_lod:
            lint.find(node, "ld-3d-mipmap", f"{role}: ld of a mipmapped 3D surface; real G4x returns wrong data at "
                                            "level >= 1, slice >= 1")
        info = format_info(surface.raw("surface_format"))
        if info is None or sampler is None or name in ("ld", "resinfo"):
            return
        if name.endswith("_c") and not info.support.shadow & self.gen:
            lint.find(node, "shadow-format", f"{role}: {name} of {info.name}, which cannot be compared")
        filters = {sampler.raw("mag_mode_filter"), sampler.raw("min_mode_filter")}
        if filters & {MapFilter.LINEAR, MapFilter.ANISOTROPIC} and not info.support.filter_on_silicon & self.gen:
            lint.find(node, "filter-format", f"{role}: {info.name} cannot be filtered")


_RULES: dict[str, tuple[_Rule, ...]] = {
    "PIPELINE_SELECT": (_select,),
    "MI_FLUSH": (_flush,),
    "PIPE_CONTROL": (_flush,),
    "MI_BATCH_BUFFER_START": (_batch_start,),
    "STATE_BASE_ADDRESS": (_bases,),
    "3DSTATE_PIPELINED_POINTERS": (_pointers,),
    "3DSTATE_BINDING_TABLE_POINTERS": (_pointers,),
    "MEDIA_STATE_POINTERS": (_media_pointers,),
    "URB_FENCE": (_fence,),
    "CS_URB_STATE": (_constant_entries,),
    "CONSTANT_BUFFER": (_constants,),
    "3DSTATE_VERTEX_BUFFERS": (_vertex_buffers,),
    "3DSTATE_VERTEX_ELEMENTS": (_vertex_elements,),
    "3DSTATE_INDEX_BUFFER": (_index_buffer,),
    "3DSTATE_DEPTH_BUFFER": (_depth_buffer,),
    "3DPRIMITIVE": (_primitive,),
    "MEDIA_OBJECT": (_media_object,),
    "MEDIA_OBJECT_EX": (_media_object,),
    "MEDIA_OBJECT_PRT": (_media_object,),
}
