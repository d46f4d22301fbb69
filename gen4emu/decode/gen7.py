"""Gen7 and Gen7.5: pointers of their own for each stage, hull and domain shaders, 3DSTATE_PS apart from 3DSTATE_WM."""

from __future__ import annotations

from gen4emu.decode import gen6
from gen4emu.decode.follower import Follower
from gen4emu.decode.gen6 import STAGES, dynamic_pointers, gate, one_kernel, pixel_kernels, stage_command, stage_pointers
from gen4emu.decode.model import Action, Model
from gen4emu.decode.nodes import Command
from gen4emu.decode.resources_gen6 import resource_of


def pool(base: str) -> Action:
    """The action of a command that allocates a pool, a base of its own while it is enabled."""
    def action(follower: Follower, node: Command) -> None:
        view = node.body.view
        follower.context.rebase(base, int(getattr(view, f"{base}_base_address"))
                                if getattr(view, f"{base}_enable") else 0)
        follower.context.state_changed = True
    return action


def cut_index(follower: Follower, node: Command) -> None:
    """3DSTATE_VF: which index cuts a strip."""
    follower.context.current[node.body.name] = node.body.view
    follower.context.vertices_changed = True


COMMON_ACTIONS: dict[str, Action] = {
    **gen6.COMMON_ACTIONS,
    **{f"3DSTATE_SAMPLER_STATE_POINTERS_{stage.upper()}": stage_pointers for stage in STAGES},
    **{f"3DSTATE_BINDING_TABLE_POINTERS_{stage.upper()}": stage_pointers for stage in STAGES},
    "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP": dynamic_pointers,
    "3DSTATE_VIEWPORT_STATE_POINTERS_CC": dynamic_pointers,
    "3DSTATE_BLEND_STATE_POINTERS": dynamic_pointers,
    "3DSTATE_VF": cut_index,
    "3DSTATE_HS": stage_command("hs", "enable", one_kernel("hs")),
    "3DSTATE_PS": stage_command("ps", "", pixel_kernels),
    "3DSTATE_BINDING_TABLE_POOL_ALLOC": pool("binding_table_pool"),
    "3DSTATE_GATHER_POOL_ALLOC": pool("gather_pool"),
}

# The commands of the stages before the rasterizer, in the order of the pipeline.
GEOMETRY_ORDER = (
    *(name for stage in STAGES[:-1] for name in (
        f"3DSTATE_URB_{stage.upper()}", f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage.upper()}",
        f"3DSTATE_CONSTANT_{stage.upper()}", f"3DSTATE_{stage.upper()}",
        *(("3DSTATE_TE",) if stage == "hs" else ()),
        f"3DSTATE_BINDING_TABLE_POINTERS_{stage.upper()}", f"3DSTATE_SAMPLER_STATE_POINTERS_{stage.upper()}")),
    "3DSTATE_STREAMOUT", "3DSTATE_SO_DECL_LIST", "3DSTATE_SO_BUFFER", "3DSTATE_CLIP",
    "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP")

MODEL = Model(
    bases=("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction", "binding_table_pool",
           "gather_pool"),
    stages=STAGES,
    actions={
        **COMMON_ACTIONS,
        "3DSTATE_VS": stage_command("vs", "enable", one_kernel("vs")),
        "3DSTATE_DS": stage_command("ds", "enable", one_kernel("ds")),
        "3DSTATE_WM": gate("ps", "thread_dispatch_enable"),
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
        # Haswell's drivers end a batch with such a pointer, as a workaround.
        ("3DSTATE_CC_STATE_POINTERS", "color_calc_state_pointer"): lambda view: not view.color_calc_state_pointer,
    },
    deferred=gen6.DEFERRED,
    constant_row_bytes=32,
    order=(*gen6.FIRST, "3DSTATE_VF_STATISTICS", "3DSTATE_VF", "3DSTATE_INDEX_BUFFER", "3DSTATE_VERTEX_BUFFERS",
           "3DSTATE_VERTEX_ELEMENTS",
           *GEOMETRY_ORDER, "3DSTATE_SF", "3DSTATE_SBE", "3DSTATE_SCISSOR_STATE_POINTERS",
           "3DSTATE_DRAWING_RECTANGLE", "3DSTATE_MULTISAMPLE", "3DSTATE_SAMPLE_MASK", "3DSTATE_WM",
           "3DSTATE_PUSH_CONSTANT_ALLOC_PS", "3DSTATE_CONSTANT_PS", "3DSTATE_PS", "3DSTATE_BINDING_TABLE_POINTERS_PS",
           "3DSTATE_SAMPLER_STATE_POINTERS_PS", "3DSTATE_VIEWPORT_STATE_POINTERS_CC", "3DSTATE_BLEND_STATE_POINTERS",
           "3DSTATE_CC_STATE_POINTERS", "3DSTATE_DEPTH_STENCIL_STATE_POINTERS", "3DSTATE_DEPTH_BUFFER",
           "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER", "3DSTATE_CLEAR_PARAMS"),
    media_state=gen6.MEDIA_STATE,
)
