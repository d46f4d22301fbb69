"""Gen6 and, with other tables, what follows it: the state of a stage is in its command, blocks hang from pointers.

Binding tables and samplers are followed at the draw, when the kernels that use them are known; of viewports, scissors
and blend state the first is shown below its pointer, the others at the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import Any

from gen4emu.decode.blits import YTiled
from gen4emu.decode.context import MERGED_NOTHING, Context, Pointer, Unit, Use, merged, uses_border
from gen4emu.decode.follower import Follower
from gen4emu.decode.model import Action, Model
from gen4emu.decode.nodes import Command, KernelCode, Node
from gen4emu.decode.resources_gen6 import resource_of
from gen4emu.hw.catalogue import register_at
from gen4emu.hw.fields import Address, Array
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Register, View

STAGES = ("vs", "hs", "ds", "gs", "ps")
DESCRIPTOR = "INTERFACE_DESCRIPTOR_DATA"
_DESCRIPTORS_KEPT = 64  # that one MEDIA_INTERFACE_DESCRIPTOR_LOAD shows
OFFSET_DISABLE = "constant_buffer_address_offset_disable"

Kernels = Callable[[View], Iterable[tuple[str, str]]]  # the fields of a command that start kernels, with their roles


# --- stages -----------------------------------------------------------------------------------------------------------
def stage_command(stage: str, enable: str, kernels: Kernels) -> Action:
    """The action of a command that sets up a stage."""
    return partial(_stage, stage, enable, kernels)


def _stage(stage: str, enable: str, kernels: Kernels, follower: Follower, node: Command) -> None:
    context, view = follower.context, node.body.view
    context.state_changed = True
    context.late.pop(stage, None)
    if enable and not getattr(view, enable):
        context.units.pop(stage, None)
    elif not follower.options.follow:
        return
    elif not context.gates.get(stage, True):  # the state that enables the stage may still come
        context.units.pop(stage, None)
        context.late[stage] = partial(_unit, stage, kernels, node)
    else:
        key = (node.body, *context.key())
        context.units[stage] = follower.once(node, key, lambda follower, at: _unit(stage, kernels, node, follower, at))


def _unit(stage: str, kernels: Kernels, command: Command, follower: Follower, node: Command) -> Unit:
    """The stage that a command sets up; its kernels become children of `node`."""
    context, view = follower.context, command.body.view
    found: list[KernelCode] = []
    use = MERGED_NOTHING
    for name, role in kernels(view):
        address = context.absolute("instruction", int(getattr(view, name)))
        code = follower.kernel_at(node, address, role)
        if code is not None:
            found.append(code)
            use = merged(use, follower.kernels.use(code))
    return Unit(command.body, command.address, tuple(found), use if found else None)


def one_kernel(stage: str) -> Kernels:
    return lambda view: (("kernel_start_pointer", stage),)


def pixel_kernels(view: View) -> Iterable[tuple[str, str]]:
    """The kernels of the enabled widths: 8 pixels use the first, 32 the second and 16 the third, but a width that is
    alone uses the first."""
    enabled = [(width, number) for width, number in ((8, 0), (16, 2), (32, 1))
               if getattr(view, f"dispatch_{width}_pixel_enable" if f"dispatch_{width}_pixel_enable"
                          in view.layout.by_name(view.gen) else f"{width}_pixel_dispatch_enable")]
    if len(enabled) == 1:
        return ((f"{pixel_pointer(view)}0", f"ps simd{enabled[0][0]}"),)
    return [(f"{pixel_pointer(view)}{number}", f"ps simd{width}") for width, number in enabled]


def pixel_pointer(view: View) -> str:
    return "kernel_start_pointer_" if "kernel_start_pointer_0" in view.layout.by_name(view.gen) else \
        "kernel_start_pointer"


def gate(stage: str, enable: str) -> Action:
    """The action of a command that enables the threads of a stage which another command sets up."""
    def action(follower: Follower, node: Command) -> None:
        follower.context.gates[stage] = bool(getattr(node.body.view, enable))
        follower.context.state_changed = True
        follower.pointers(node)
    return action


# --- pointers that wait for the draw ----------------------------------------------------------------------------------
def stage_pointers(follower: Follower, node: Command) -> None:
    """3DSTATE_BINDING_TABLE_POINTERS* and 3DSTATE_SAMPLER_STATE_POINTERS*: of one stage, or of several."""
    context = follower.context
    for target, stage, base, offset in context.recall(node.body, _stage_pointers_of):
        context.pending[target, stage] = Pointer(base, offset)
    context.state_changed = True


def _stage_pointers_of(view: View) -> list[tuple[str, str, str, int]]:
    last = view.layout.name.rpartition("_")[2].lower()
    return [(f.target, last if last in STAGES else next((s for s in STAGES if f"_{s}_" in f.name), ""), f.base,
             int(f.decode(raw))) for f, raw in view.fields() if isinstance(f, Address) and f.target]


def dynamic_pointers(follower: Follower, node: Command) -> None:
    """Pointers to arrays of state: the first element is shown here, the others when a draw defines their number."""
    context = follower.context
    for f, raw in node.body.view.fields():
        if isinstance(f, Address) and f.target in ARRAYS and not follower.is_unused(node.body.view, f):
            context.pending[f.target, ""] = Pointer(f.base, int(f.decode(raw)))
            context.state_changed = True
    follower.pointers(node)


def _viewports(context: Context) -> int:
    clip = context.current.get("3DSTATE_CLIP")
    return 1 if clip is None else int(clip.maximum_vp_index) + 1


def _render_targets(context: Context) -> int:
    ps = context.running("ps")
    return 1 if ps is None or ps.use is None else max(ps.use.targets, default=0) + 1


ARRAYS: Mapping[str, Callable[[Context], int]] = {
    "CC_VIEWPORT": _viewports, "CLIP_VIEWPORT": _viewports, "SF_VIEWPORT": _viewports, "SF_CLIP_VIEWPORT": _viewports,
    "SCISSOR_RECT": _viewports, "BLEND_STATE": _render_targets,
}


def blend_state(follower: Follower, parent: Node, view: View, address: int, role: str, use: Use | None) -> None:
    """Only the first entry: drivers leave others out, and what lies there is not blend state."""
    follower.block(parent, _first_entry(follower.catalogue.block("BLEND_STATE")), address, role)


@lru_cache
def _first_entry(block: Block) -> Block:
    array: Array = block.all_arrays[0]
    return block.with_count(array.name, 1)


def draw_key(context: Context) -> Hashable:
    counts = (_viewports(context), _render_targets(context))
    return (context.units_key(), tuple(context.gates.items()), counts,
            tuple([(key, p.base, p.offset) for key, p in context.pending.items() if not p.shown]))


def draw_state(follower: Follower, node: Command) -> None:
    """Kernels that were enabled late, then the tables and the arrays that were set since the last draw."""
    context = follower.context
    for stage, set_up in list(context.late.items()):
        if context.gates.get(stage, True):
            context.units[stage] = set_up(follower, node)
            del context.late[stage]
    key = draw_key(context)
    if key == context.drawn and not follower.options.repeat:
        return
    for (target, stage), pointer in context.pending.items():
        unit = context.running(stage)
        if target in ARRAYS:
            _rest(follower, node, target, pointer, ARRAYS[target](context))
        elif unit is not None and unit.use is not None:
            key_of_unit = (unit.body, context.key())
            if pointer.shown == key_of_unit and not follower.options.repeat:
                continue
            pointer.shown = key_of_unit
            address = table_address(context, target, pointer)
            if target == "BINDING_TABLE_STATE":
                follower.table(node, address, int(unit.body.view.binding_table_entry_count), unit.use, stage)
            else:
                follower.samplers(node, address, int(unit.body.view.sampler_count), unit.use, stage)
    context.drawn = draw_key(context)


def table_address(context: Context, target: str, pointer: Pointer) -> int:
    """A binding table counts from its pool, in steps twice as large, while there is one."""
    if target == "BINDING_TABLE_STATE" and context.bases.get("binding_table_pool"):
        return context.absolute("binding_table_pool", 2 * pointer.offset)
    return context.absolute(pointer.base, pointer.offset)


def _rest(follower: Follower, node: Command, target: str, pointer: Pointer, count: int) -> None:
    """The elements of an array after the first."""
    key = (count, follower.context.key())
    if pointer.shown == key and not follower.options.repeat:
        return
    pointer.shown = key
    address = follower.context.absolute(pointer.base, pointer.offset)
    block = follower.catalogue.block(target)
    step = 4 * block.size(follower.gen)
    if target == "BLEND_STATE":
        array = block.all_arrays[0]
        block, address = array.item, address + 4 * array.dword
        step = 4 * block.size(follower.gen)
    for i in range(1, count):
        follower.block(node, block, address + i * step, str(i))


# --- constants --------------------------------------------------------------------------------------------------------
def constants(follower: Follower, node: Command) -> None:
    """3DSTATE_CONSTANT_*: the first buffer counts from dynamic state, unless a register says that it does not."""
    if not follower.options.follow:
        return
    absolute = follower.context.absolute_constants
    follower.once(node, (node.body, absolute, *follower.context.key()), _buffers)


def _buffers(follower: Follower, node: Command) -> None:
    view, absolute = node.body.view, follower.context.absolute_constants
    stage = node.body.name.rpartition("_")[2].lower()
    number = 0
    for item in (view, *(v for a in view.layout.arrays_for(view.gen) for v in view.array(a))):
        for f, raw in item.fields():
            if isinstance(f, Address) and f.target == "CONSTANTS":
                base = "dynamic_state" if f.name.endswith("_buffer_0") and not absolute else ""
                address = follower.context.absolute(base, int(f.decode(raw)))
                size = follower.size_of(item, f)
                follower.plain(node, address, "CONSTANTS", size, f"{stage} {number}")
                number += 1


def load_register(follower: Follower, node: Command) -> None:
    """MI_LOAD_REGISTER_IMM: what the values say, and whether the first constant buffer has an absolute address."""
    loaded = follower.context.recall(node.body, registers_of)
    for offset, value in loaded:
        absolute = switched("RENDER_INSTPM", OFFSET_DISABLE, node.body.view.gen, offset, value)
        if absolute is not None:
            follower.context.absolute_constants = absolute
    tile_blits(follower, node.body.view.gen, loaded)
    follower.registers(node, loaded)


def switched(name: str, field: str, gen: Gen, offset: int, value: int) -> bool | None:
    """The bit of a masked register that a write sets; None if the write is to another one or leaves the bit alone."""
    register = register_at(offset, gen)
    if register is None or register.name != name:
        return None
    written = register.view((value,), gen=gen)
    return bool(getattr(written, field)) if written.mask & _mask(register, field, gen) else None


@cache
def _mask(register: Register, field: str, gen: Gen) -> int:
    return register.field(field, gen).mask_in(0)


def tile_blits(follower: Follower, gen: Gen, loaded: Iterable[tuple[int, int]]) -> None:
    """BCS_SWCTRL says whether blits to and from tiled surfaces mean tiles in Y."""
    for offset, value in loaded:
        source, destination = (switched("BCS_SWCTRL", f"{side}_is_y_tiled", gen, offset, value)
                               for side in ("source", "destination"))
        now = follower.context.y_tiled
        follower.context.y_tiled = YTiled(now.source if source is None else source,
                                          now.destination if destination is None else destination)


def registers_of(view: View) -> list[tuple[int, int]]:
    """The offset and the value of each register that a command loads."""
    return [(int(write.register_offset), int(write.data)) for write in view.writes]


# --- other state ------------------------------------------------------------------------------------------------------
def remember(follower: Follower, node: Command) -> None:
    """State that a draw looks at: the last command of this name."""
    follower.context.current[node.body.name] = node.body.view
    follower.context.state_changed = True
    follower.pointers(node)


def set_context(follower: Follower, node: Command) -> None:
    """MI_SET_CONTEXT: the state of another context is in force."""
    follower.context.switch(int(node.body.view.logical_context_address))


def pipeline_select(follower: Follower, node: Command) -> None:
    view = node.body.view
    names = view.layout.by_name(view.gen)
    if "mask_bits" in names and not int(view.mask_bits) & names["pipeline_selection"].mask:
        return
    follower.context.pipeline = ("3D", "media", "GPGPU", "")[view.raw("pipeline_selection")]


# --- media ------------------------------------------------------------------------------------------------------------
def descriptor_load(follower: Follower, node: Command) -> None:
    """MEDIA_INTERFACE_DESCRIPTOR_LOAD: the descriptors, from which objects and walkers choose."""
    context, view = follower.context, node.body.view
    f = next((f for f, _ in view.fields() if isinstance(f, Address) and f.target == DESCRIPTOR), None)
    if f is None:
        return
    context.descriptors = context.absolute(f.base, int(getattr(view, f.name)))
    if follower.options.follow:
        follower.once(node, (node.body, context.pipeline, *context.key()), _descriptors)


def _descriptors(follower: Follower, node: Command) -> None:
    view, context = node.body.view, follower.context
    role = "cs" if context.pipeline == "GPGPU" else "media"
    block = follower.catalogue.block(DESCRIPTOR)
    size = 4 * block.size(view.gen)
    count = int(view.interface_descriptor_total_length) // size
    for i in range(min(count, _DESCRIPTORS_KEPT)):
        follower.block(node, block, context.descriptors + size * i, f"{role} {i}")


def descriptors(follower: Follower, view: View) -> list[tuple[int, int]]:
    """Number and address of the interface descriptor that an object or a walker starts."""
    if "interface_descriptor_offset" not in view.layout.by_name(view.gen):
        return []
    index, size = int(view.interface_descriptor_offset), 4 * follower.catalogue.block(DESCRIPTOR).size(view.gen)
    return [(index, follower.context.descriptors + size * index & follower.context.mask)]


# --- tables -----------------------------------------------------------------------------------------------------------
COMMON_ACTIONS: dict[str, Action] = {
    **{f"3DSTATE_CONSTANT_{stage.upper()}": constants for stage in STAGES},
    "3DSTATE_CC_STATE_POINTERS": dynamic_pointers,
    "3DSTATE_SCISSOR_STATE_POINTERS": dynamic_pointers,
    "3DSTATE_CLIP": remember,
    "3DSTATE_GS": stage_command("gs", "enable", one_kernel("gs")),
    "MI_LOAD_REGISTER_IMM": load_register,
    "MI_SET_CONTEXT": set_context,
    "MEDIA_INTERFACE_DESCRIPTOR_LOAD": descriptor_load,
    "PIPELINE_SELECT": pipeline_select,
}
COMMON_UNUSED: dict[tuple[str, str], Callable[[Any], bool]] = {
    ("STATE_SIP", "system_instruction_pointer"): lambda view: not view.system_instruction_pointer,
    ("SAMPLER_STATE", "border_color_pointer"): lambda view: not uses_border(view),
    ("VERTEX_BUFFER_STATE", "buffer_starting_address"): lambda view: bool(view.null_vertex_buffer),
}
DEFERRED = frozenset({"BINDING_TABLE_STATE", "VERTEX_DATA", "INDEX_DATA"})
MEDIA_STATE = frozenset({
    "PIPELINE_SELECT", "STATE_BASE_ADDRESS", "STATE_SIP", "MEDIA_VFE_STATE", "MEDIA_CURBE_LOAD",
    "MEDIA_INTERFACE_DESCRIPTOR_LOAD", "MEDIA_GATEWAY_STATE"})
FIRST = ("PIPELINE_SELECT", "STATE_BASE_ADDRESS", "STATE_SIP", "MEDIA_VFE_STATE", "MEDIA_CURBE_LOAD",
         "MEDIA_INTERFACE_DESCRIPTOR_LOAD")

MODEL = Model(
    bases=("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction"),
    stages=("vs", "gs", "ps"),
    actions={
        **COMMON_ACTIONS,
        "3DSTATE_BINDING_TABLE_POINTERS": stage_pointers,
        "3DSTATE_SAMPLER_STATE_POINTERS": stage_pointers,
        "3DSTATE_VIEWPORT_STATE_POINTERS": dynamic_pointers,
        "3DSTATE_VS": stage_command("vs", "enable", one_kernel("vs")),
        "3DSTATE_WM": stage_command("ps", "thread_dispatch_enable", pixel_kernels),
    },
    draw_key=draw_key,
    draw_state=draw_state,
    descriptors=descriptors,
    descriptor=DESCRIPTOR,
    surface="RENDER_SURFACE_STATE",
    resource_of=resource_of,
    targets={"BLEND_STATE": blend_state},
    unused=COMMON_UNUSED,
    deferred=DEFERRED,
    constant_row_bytes=32,
    order=(*FIRST, "3DSTATE_VF_STATISTICS", "3DSTATE_INDEX_BUFFER", "3DSTATE_VERTEX_BUFFERS",
           "3DSTATE_VERTEX_ELEMENTS", "3DSTATE_URB", "3DSTATE_CONSTANT_VS", "3DSTATE_VS", "3DSTATE_CONSTANT_GS",
           "3DSTATE_GS", "3DSTATE_GS_SVB_INDEX", "3DSTATE_CLIP", "3DSTATE_VIEWPORT_STATE_POINTERS", "3DSTATE_SF",
           "3DSTATE_SCISSOR_STATE_POINTERS", "3DSTATE_DRAWING_RECTANGLE", "3DSTATE_MULTISAMPLE", "3DSTATE_SAMPLE_MASK",
           "3DSTATE_CONSTANT_PS", "3DSTATE_WM", "3DSTATE_BINDING_TABLE_POINTERS", "3DSTATE_SAMPLER_STATE_POINTERS",
           "3DSTATE_CC_STATE_POINTERS", "3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER",
           "3DSTATE_CLEAR_PARAMS"),
    media_state=MEDIA_STATE,
)
