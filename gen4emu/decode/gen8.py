"""Gen8 and Gen9: addresses of 48 bits, bindless surfaces, and pixel shader, raster and blend state in more commands."""

from __future__ import annotations

from collections.abc import Iterable

from gen4emu.decode import gen6, gen7
from gen4emu.decode.follower import Follower
from gen4emu.decode.gen6 import STAGES, gate, one_kernel, remember, stage_command
from gen4emu.decode.model import Model
from gen4emu.decode.nodes import Command
from gen4emu.decode.resources_gen6 import resource_of
from gen4emu.hw.layout import View

_SINGLE_OR_DUAL_PATCH = 2  # of the dispatch modes of 3DSTATE_DS


def load_register(follower: Follower, node: Command) -> None:
    """MI_LOAD_REGISTER_IMM: the switch of the first constant buffer is in another register."""
    loaded = follower.context.recall(node.body, gen6.registers_of)
    for offset, value in loaded:
        absolute = gen6.switched("CS_DEBUG_MODE2", gen6.OFFSET_DISABLE, node.body.view.gen, offset, value)
        if absolute is not None:
            follower.context.absolute_constants = absolute
    gen6.tile_blits(follower, node.body.view.gen, loaded)
    follower.registers(node, loaded)


def _domain_kernels(view: View) -> Iterable[tuple[str, str]]:
    """Gen9 has a second kernel, for two patches at once."""
    yield "kernel_start_pointer", "ds"
    name = "dual_patch_kernel_start_pointer"
    if name in view.layout.by_name(view.gen) and view.raw("dispatch_mode") == _SINGLE_OR_DUAL_PATCH:
        yield name, "ds dual patch"


def instancing(follower: Follower, node: Command) -> None:
    """3DSTATE_VF_INSTANCING: whether one vertex element has a value for each instance."""
    context, view = follower.context, node.body.view
    index = int(view.vertex_element_index)
    if view.instancing_enable:
        context.step_rates[index] = int(view.instance_data_step_rate)
    else:
        context.step_rates.pop(index, None)
    context.vertices_changed = True


MODEL = Model(
    bases=("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction",
           "bindless_surface_state", "binding_table_pool", "gather_pool", "dx9_constant_buffer_pool"),
    stages=STAGES,
    actions={
        **gen7.COMMON_ACTIONS,
        "3DSTATE_VS": stage_command("vs", "enable", one_kernel("vs")),
        "3DSTATE_DS": stage_command("ds", "function_enable", _domain_kernels),
        "3DSTATE_PS_EXTRA": gate("ps", "pixel_shader_valid"),
        "3DSTATE_VF_TOPOLOGY": remember,
        "3DSTATE_VF_INSTANCING": instancing,
        "3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC": gen7.pool("dx9_constant_buffer_pool"),
        "MI_LOAD_REGISTER_IMM": load_register,
    },
    draw_key=gen6.draw_key,
    draw_state=gen6.draw_state,
    descriptors=gen6.descriptors,
    descriptor=gen6.DESCRIPTOR,
    surface="RENDER_SURFACE_STATE",
    resource_of=resource_of,
    targets={"BLEND_STATE": gen6.blend_state},
    unused={
        **gen6.COMMON_UNUSED,
        ("3DSTATE_BLEND_STATE_POINTERS", "blend_state_pointer"): lambda view: not view.blend_state_pointer_valid,
        ("3DSTATE_CC_STATE_POINTERS", "color_calc_state_pointer"):
            lambda view: not view.color_calc_state_pointer_valid,
    },
    deferred=gen6.DEFERRED,
    constant_row_bytes=1,
    order=(*gen6.FIRST, "3DSTATE_VF_STATISTICS", "3DSTATE_VF", "3DSTATE_VF_TOPOLOGY", "3DSTATE_INDEX_BUFFER",
           "3DSTATE_VERTEX_BUFFERS", "3DSTATE_VERTEX_ELEMENTS", "3DSTATE_VF_INSTANCING", "3DSTATE_VF_SGVS",
           "3DSTATE_VF_COMPONENT_PACKING",
           *gen7.GEOMETRY_ORDER, "3DSTATE_RASTER", "3DSTATE_SF", "3DSTATE_SBE",
           "3DSTATE_SBE_SWIZ", "3DSTATE_SCISSOR_STATE_POINTERS", "3DSTATE_DRAWING_RECTANGLE", "3DSTATE_MULTISAMPLE",
           "3DSTATE_SAMPLE_PATTERN", "3DSTATE_SAMPLE_MASK", "3DSTATE_WM", "3DSTATE_PUSH_CONSTANT_ALLOC_PS",
           "3DSTATE_CONSTANT_PS", "3DSTATE_PS", "3DSTATE_PS_EXTRA", "3DSTATE_BINDING_TABLE_POINTERS_PS",
           "3DSTATE_SAMPLER_STATE_POINTERS_PS", "3DSTATE_VIEWPORT_STATE_POINTERS_CC", "3DSTATE_PS_BLEND",
           "3DSTATE_BLEND_STATE_POINTERS", "3DSTATE_CC_STATE_POINTERS", "3DSTATE_WM_DEPTH_STENCIL",
           "3DSTATE_WM_CHROMAKEY", "3DSTATE_WM_HZ_OP", "3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER",
           "3DSTATE_HIER_DEPTH_BUFFER", "3DSTATE_CLEAR_PARAMS"),
    media_state=gen6.MEDIA_STATE,
)
