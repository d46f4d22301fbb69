"""`edit`: a field of a state block in memory, whose draws are compared with those of the unchanged trace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces"
CASES = {
    "gears-g4x": (4, "COLOR_CALC_STATE 0x001093c0 depth_test_function NEVER", "was LESS, is NEVER",
                  "2113 of 65536 pixels differ, in 49,37 to 119,110"),
    **{f"later/triangle-{device}": (draw, f"RENDER_SURFACE_STATE {address} surface_format B8G8R8A8_UNORM",
                                    "was R8G8B8A8_UNORM, is B8G8R8A8_UNORM", "1253 of 4096 pixels differ")
       for device, draw, address in (("ivb", 4, "0x00107560"), ("hsw", 3, "0x00107560"), ("kbl", 2, "0x1ff7ef140"))},
}


@pytest.mark.parametrize("name", CASES)
def test_an_edited_field_changes_the_draw(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    draw, edit, said, differs = CASES[name]
    commands = (f"draw {draw}", f"edit {edit}", "next", "compare")
    assert run(["debug", str(TRACES / f"{name}.aub.xz"), *(word for c in commands for word in ("-c", c))]) == 0
    out = capsys.readouterr().out
    assert said in out
    assert differs in out


@pytest.mark.parametrize(("edit", "error"), [
    ("COLOR_CALC_STATE 0x001093c0 depth NEVER", "COLOR_CALC_STATE: no field is called depth"),
    ("COLOR_CALC_STATE 0x001093c0 depth_test_function SOMETIMES", "SOMETIMES"),
    ("COLOR_CALC_STATE 0x001093c0 depth_test_enable 2", "depth_test_enable: '2' is neither true nor false"),
    ("COLOR_CALC_STATE 0x001093c0 stencil_reference_value 256", "256"),
    ("CALC_STATE 0x001093c0 depth_test_function NEVER", "unknown block 'CALC_STATE'"),
    ("COLOR_CALC_STATE 0x001093c0", "edit NAME ADDRESS FIELD VALUE"),
    ("COLOR_CALC_STATE 0x7fffffc0 depth_test_function NEVER", "0x7fffffc0"),
])
def test_errors_name_the_field_and_change_nothing(edit: str, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = ("draw 4", f"edit {edit}", "struct COLOR_CALC_STATE 0x001093c0", "next", "compare")
    status = run(["debug", str(TRACES / "gears-g4x.aub.xz"), "--keep-going",
                  *(word for c in commands for word in ("-c", c))])
    said = capsys.readouterr()
    assert status == 2
    assert error in said.err
    assert "Traceback" not in said.err
    assert "is NEVER" not in said.out
    assert re.search("depth_test_function +LESS\n", said.out)
    assert said.out.count("no pixel differs") == 2
