"""The command streamer's side: pointers and when they are read, pipeline switches, contexts (G45 PRM vol. 2, 10.3)."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import block_named
from tests.harness.media import DESCRIPTORS, END, EXTENDED, KERNELS, TARGETS, VFE, Media, store

WORD = (1,)


def generic(part: str = "gm45") -> Media:
    media = Media(part)
    media.select()
    return media


def test_state_is_read_at_the_first_object_after_the_pointers() -> None:
    media = generic()
    media.object(WORD)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS]
    media.vfe["interface_descriptor_base_pointer"] = DESCRIPTORS + 16
    media.write_state()
    media.object(WORD)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS]
    media.pointers()
    media.object(WORD)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS + 16]


def test_the_last_pointers_win_and_use_the_base_of_their_time() -> None:
    media = generic()
    other = VFE + 0x800
    media.vfe["interface_descriptor_base_pointer"] = 0x20000 + 16 * 2
    media.memory.write(other, block_named("VFE_STATE", media.gen).build(media.gen, **media.vfe))
    media.memory.write(0x20000 + 0x1000 + 16 * 2, media.memory.read(DESCRIPTORS, 16))
    media.memory.write(KERNELS + 0x1000, media.memory.read(KERNELS, 64))
    media.command("STATE_BASE_ADDRESS", general_state_base_address=0x1000,
                  general_state_base_address_modify_enable=True)
    media.command("MEDIA_STATE_POINTERS", pointer_to_vfe_state=other - 0x1000)
    media.object(WORD)
    assert [t.descriptor for t in media.run()] == [0x21020]


@pytest.mark.parametrize("part", ["gm45", "965gm"])
def test_pipelines_are_selected_in_both_directions(part: str) -> None:
    media = generic(part)
    streamer = media.device._active
    media.object(WORD)
    media.command("PIPELINE_SELECT", pipeline_selection=0)
    media.object(WORD)
    media.command("PIPELINE_SELECT", pipeline_selection=1)
    media.object(WORD)
    assert len(media.run()) == 2
    assert list(streamer.findings.count) == ["MEDIA_OBJECT while the 3D pipeline is selected"]


def test_threads_end_before_the_batch_does() -> None:
    media = generic()
    media.kernel(0, store(1, f"0x{TARGETS:x}UD") + END)
    media.object((0xCAFE,))
    media.execute()
    assert media.dwords(TARGETS, 1) == [0xCAFE]


@pytest.mark.parametrize(("command", "fields"), [
    ("MI_FLUSH", {}), ("PIPE_CONTROL", {"post_sync_operation": 1, "destination_address": TARGETS + 64})])
def test_flushes_wait_for_threads(command: str, fields: dict[str, int]) -> None:
    media = generic()
    media.kernel(0, store(1, f"0x{TARGETS:x}UD") + END)
    media.object((0xCAFE,))
    media.command(command, **fields)
    media.store_dword(TARGETS, 1)
    media.execute()
    assert media.dwords(TARGETS, 1) == [1]


def test_vertices_in_media_mode_go_to_the_cache_only_on_965() -> None:
    media = generic("965gm")
    media.command("3DSTATE_VF_STATISTICS", statistics_enable=True)
    media.command("3DPRIMITIVE", primitive_topology_type=1, vertex_count_per_instance=7, instance_count=1)
    media.execute()
    state = media.device._active.state.raw
    assert (state.counter[0], state.counter[1]) == (7, 7)
    assert media.complaints() == []
    media = generic("gm45")
    media.command("3DPRIMITIVE", primitive_topology_type=1, vertex_count_per_instance=7, instance_count=1)
    media.execute()
    assert media.complaints() == ["3DPRIMITIVE while the media pipeline is selected"]


def test_each_context_has_its_own_media_state() -> None:
    media = generic()
    media.command("MI_SET_CONTEXT", logical_context_address=0x300000)
    media.select()
    media.object(WORD)
    media.command("MI_SET_CONTEXT", logical_context_address=0x301000, restore_inhibit=True)
    media.execute()
    media.vfe["interface_descriptor_base_pointer"] = DESCRIPTORS + 16
    media.write_state()
    media.select()
    media.object(WORD)
    media.command("MI_SET_CONTEXT", logical_context_address=0x300000)
    media.object(WORD)
    media.command("MI_SET_CONTEXT", logical_context_address=0x301000)
    media.object(WORD)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS + 16, DESCRIPTORS, DESCRIPTORS + 16]


def test_an_extended_pointer_that_is_not_enabled_is_ignored() -> None:
    media = generic()
    media.memory.write(EXTENDED, b"\xFF" * 32)
    media.object(WORD, name="MEDIA_OBJECT_EX", interface_descriptor_offset=3)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS + 48]


def test_a_fence_of_the_media_units_leaves_the_others_alone() -> None:
    """The VA driver sends one that moves only these."""
    media = generic()
    media.command("URB_FENCE", **{f"{unit}_urb_reallocation_request": True for unit in ("vs", "gs", "clip", "sf")},
                  vs_fence=10, gs_fence=20, clip_fence=30, sf_fence=40)
    media.command("URB_FENCE", **{f"{unit}_urb_reallocation_request": True for unit in ("vfe", "cs")},
                  vfe_fence=364, cs_fence=384)
    media.execute()
    assert list(media.device._active.state.raw.urb_fence) == [10, 20, 30, 40, 364, 384]
