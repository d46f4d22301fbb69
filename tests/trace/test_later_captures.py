"""The committed captures of Gen6 to Gen9: a triangle of tests/live by crocus (snb to hsw) and iris (bdw to kbl)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.hw.chips import BY_NAME, DEVICES
from gen4emu.hw.gen import Gen
from gen4emu.trace.events import Comment, GttWrite, Header, MemoryWrite, Space, Submission
from tests.harness.parts import names

TRACES = Path(__file__).parents[2] / "traces" / "later"
NEWER = [chip.name for chip in DEVICES if not chip.gen & Gen.ALL4]


@pytest.mark.parametrize("device", NEWER)
def test_a_capture_is_read_without_warnings(device: str) -> None:
    chip = BY_NAME[device]
    found = list(trace.open(TRACES / f"triangle-{device}.aub.xz", strict=True))
    assert isinstance(found[0], Header)
    assert (found[0].pci_id, found[0].application) == (chip.pci_id, "glscenes")
    driver = "Iris" if chip.address_bits == 48 else "Crocus"
    assert {e.text for e in found if isinstance(e, Comment)} == {f"driver: {driver} 22.3.6 build , frame 0"}
    runs = [e for e in found if isinstance(e, Submission)]
    assert len(runs) in (1, 2, 3)
    assert all((e.page_table is not None) == (driver == "Iris") for e in runs)
    spaces = {e.space for e in found if isinstance(e, MemoryWrite)}
    assert spaces == ({Space.PHYSICAL, Space.GRAPHICS} if driver == "Iris" else {Space.GRAPHICS})
    assert any(isinstance(e, GttWrite) for e in found) == (driver == "Iris")


@pytest.mark.parametrize("device", names(Gen.GEN9))
def test_render_and_compute_batches_of_iris_have_two_contexts(device: str) -> None:
    runs = [e for e in trace.open(TRACES / f"triangle-{device}.aub.xz") if isinstance(e, Submission)]
    assert [e.context for e in runs] == [0, 1, 0]
