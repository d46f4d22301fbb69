"""Gen4 and Gen4.5: six units whose state is in memory, one command that points to all of them, one for binding tables.

The media pipeline has a state block as well, whose mode determines the layout of the extended state.
"""

from __future__ import annotations

from collections.abc import Hashable

from gen4emu.decode.context import Context, Use, uses_border
from gen4emu.decode.follower import Follower
from gen4emu.decode.model import Model
from gen4emu.decode.nodes import Command, Node
from gen4emu.decode.resources import Kind, Resource
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import VfeMode
from gen4emu.hw.gen4.message_shapes import message_for, sampler_message
from gen4emu.hw.gen4.messages import DataPortWriteTypeGen4, SharedFunction
from gen4emu.hw.layout import Block, View
from gen4emu.isa.instruction import Descriptor

STAGES = ("vs", "gs", "clip", "sf", "ps")


# --- 3D ---------------------------------------------------------------------------------------------------------------
def pipelined(follower: Follower, node: Command) -> None:
    """3DSTATE_PIPELINED_POINTERS: the units change, and so does the use of binding tables."""
    context = follower.context
    context.units = {}
    context.state_changed = True
    if follower.options.follow:
        context.units = follower.once(node, (node.body, *context.key()), _units)


def _units(follower: Follower, node: Command) -> object:
    follower.below(node, node.body.view, "")
    return follower.context.units


def binding_tables(follower: Follower, node: Command) -> None:
    """3DSTATE_BINDING_TABLE_POINTERS: stored until the units are known, which determine the number of entries."""
    context = follower.context
    base = context.bases["surface_state"]
    context.tables = {stage: base + offset & context.mask for stage, offset in context.recall(node.body, _tables_of)}
    context.state_changed = True


def _tables_of(view: View) -> list[tuple[str, int]]:
    """Stage and offset of each binding table."""
    return [(next((s for s in STAGES if f"_{s}_" in f.name), ""), int(f.decode(raw)))
            for f, raw in view.fields() if isinstance(f, Address)]


def draw_key(context: Context) -> Hashable:
    return (context.units_key(), *context.tables.items())


def pending_tables(follower: Follower, node: Node) -> None:
    """Binding tables of the stages that run kernels."""
    context = follower.context
    for stage in STAGES:
        unit = context.units.get(stage)
        address = context.tables.get(stage)
        if unit is None or address is None or unit.use is None:
            continue
        declared = int(unit.body.view.binding_table_entry_count)
        follower.table(node, address, declared, unit.use, stage)


def _viewports(context: Context) -> int:
    """Only a geometry shader can select another viewport than the first."""
    gs = context.units.get("gs")
    return 1 if gs is None else int(gs.body.view.maximum_vp_index) + 1


# --- media ------------------------------------------------------------------------------------------------------------
def media_pointers(follower: Follower, node: Command) -> None:
    """MEDIA_STATE_POINTERS: VFE's mode determines the layout of the extended state."""
    context, view, gen = follower.context, node.body.view, follower.gen
    context.vfe = context.vld = None
    context.remap = {}
    context.descriptors_shown.clear()
    address = context.absolute("general_state", view.pointer_to_vfe_state)
    context.vfe = follower.peek.view(catalogue_of(gen).block("VFE_STATE"), address, gen)
    if context.vfe is not None:
        context.extended = "VLD_STATE" if context.vfe.raw("vfe_mode") == VfeMode.VLD else "VFE_STATE_EX"
        block = _extended(follower)
        if view.extended_vfe_state_enable and block is not None:
            at = context.absolute("general_state", view.extended_state_pointer)
            context.vld = follower.peek.view(block, at, gen)
            context.remap = _remap(context.vld)
    follower.pointers(node)


def _extended_state(follower: Follower, parent: Node, view: View, address: int, role: str,
                    use: Use | None) -> None:
    block = _extended(follower)
    if block is not None:
        follower.block(parent, block, address, role)


def _extended(follower: Follower) -> Block | None:
    """The layout of the extended state, if the part has one."""
    try:
        return catalogue_of(follower.gen).block(follower.context.extended)
    except KeyError:
        return None


def media_object(follower: Follower, node: Command) -> None:
    """MEDIA_OBJECT and its variants: the interface descriptors that they select, then their data."""
    if not follower.options.follow:
        return
    context = follower.context
    if context.vfe is not None:
        block = catalogue_of(follower.gen).block("INTERFACE_DESCRIPTOR")
        for i, address in descriptors(follower, node.body.view):
            if i not in context.descriptors_shown:
                context.descriptors_shown.add(i)
                follower.block(node, block, address, f"media {i}")
    follower.pointers(node)


def descriptors(follower: Follower, view: View) -> list[tuple[int, int]]:
    """Number and address of the interface descriptors that an object can start."""
    context = follower.context
    if context.vfe is None:
        return []
    base = context.absolute("general_state", context.vfe.interface_descriptor_base_pointer)
    size = 4 * catalogue_of(follower.gen).block("INTERFACE_DESCRIPTOR").size(follower.gen)
    return [(i, base + size * i & context.mask) for i in _numbers(context, view)]


def _remap(vld: View | None) -> dict[str, int]:
    return {} if vld is None else {f.name: int(f.decode(raw)) for f, raw in vld.fields() if "remap" in f.name}


def _numbers(context: Context, view: View) -> list[int]:
    vld, remap = context.vld, context.remap
    if vld is not None and vld.layout.name == "VLD_STATE":
        return sorted(set(remap.values())) if remap else [0]
    index = int(view.interface_descriptor_offset)
    if view.layout.name == "MEDIA_OBJECT_EX":
        index = remap.get(f"interface_descriptor_remap_{index}", index)
    return [index]


def resource_of(descriptor: Descriptor, gen: Gen) -> Resource | None:
    """The surface and the sampler that a message names."""
    message = message_for(descriptor.bits, gen)
    if message is None or "binding_table_index" not in message.by_name(gen):
        return None
    view = message.view((descriptor.bits,), gen=gen)
    index = int(view.binding_table_index)
    if message.sfid == SharedFunction.DATA_PORT_WRITE and view.message_type == DataPortWriteTypeGen4.RENDER_TARGET:
        return Resource(Kind.TARGET, index)
    sample = sampler_message(descriptor.bits, gen)
    sampler = int(view.sampler_index) if sample is not None and sample.uses_sampler else None
    return Resource(Kind.TEXTURE if message.sfid == SharedFunction.SAMPLER else Kind.SURFACE, index, sampler)


MODEL = Model(
    bases=("general_state", "surface_state", "indirect_object", "instruction"),
    stages=STAGES,
    actions={
        "3DSTATE_PIPELINED_POINTERS": pipelined,
        "3DSTATE_BINDING_TABLE_POINTERS": binding_tables,
        "MEDIA_STATE_POINTERS": media_pointers,
        "MEDIA_OBJECT": media_object,
        "MEDIA_OBJECT_EX": media_object,
        "MEDIA_OBJECT_PRT": media_object,
    },
    draw_key=draw_key,
    draw_state=pending_tables,
    descriptors=descriptors,
    descriptor="INTERFACE_DESCRIPTOR",
    surface="SURFACE_STATE",
    resource_of=resource_of,
    units={"VS_STATE": "vs", "GS_STATE": "gs", "CLIP_STATE": "clip", "SF_STATE": "sf", "WM_STATE": "ps",
           "COLOR_CALC_STATE": "cc"},
    targets={"VLD_STATE": _extended_state},
    counts={"CLIP_VIEWPORT": _viewports, "SF_VIEWPORT": _viewports, "CC_VIEWPORT": _viewports},
    unused={
        ("WM_STATE", "kernel_start_pointer"): lambda view: not view.thread_dispatch_enable,
        ("WM_STATE", "sampler_state_pointer"): lambda view: not view.thread_dispatch_enable,
        ("SF_STATE", "setup_viewport_state_offset"):
            lambda view: not (view.viewport_transform_enable or view.scissor_rectangle_enable),
        ("CLIP_STATE", "clipper_viewport_state_pointer"): lambda view: not view.guardband_clip_test_enable,
        ("STATE_SIP", "system_instruction_pointer"): lambda view: not view.system_instruction_pointer,
        ("CONSTANT_BUFFER", "buffer_starting_address"): lambda view: not view.valid,
        ("SAMPLER_STATE", "border_color_pointer"): lambda view: not uses_border(view),
    },
    deferred=frozenset({"BINDING_TABLE_STATE", "VERTEX_DATA", "INDEX_DATA", "INTERFACE_DESCRIPTOR"}),
    order=("PIPELINE_SELECT", "STATE_BASE_ADDRESS", "STATE_SIP", "URB_FENCE", "CS_URB_STATE", "CONSTANT_BUFFER",
           "MEDIA_STATE_POINTERS", "3DSTATE_VF_STATISTICS", "3DSTATE_VERTEX_BUFFERS", "3DSTATE_VERTEX_ELEMENTS",
           "3DSTATE_INDEX_BUFFER", "3DSTATE_PIPELINED_POINTERS", "3DSTATE_BINDING_TABLE_POINTERS",
           "3DSTATE_DRAWING_RECTANGLE", "3DSTATE_DEPTH_BUFFER", "3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP",
           "3DSTATE_CONSTANT_COLOR"),
    media_state=frozenset({"PIPELINE_SELECT", "STATE_BASE_ADDRESS", "STATE_SIP", "URB_FENCE", "CS_URB_STATE",
                           "CONSTANT_BUFFER", "MEDIA_STATE_POINTERS"}),
)
