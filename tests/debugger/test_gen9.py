"""The debugger on Kaby Lake: addresses of 48 bits, pages of a context's table, topologies that draws do not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.cli.main import run

TRACE = str(Path(__file__).parents[2] / "traces" / "later" / "triangle-kbl.aub.xz")


def debug(capsys: pytest.CaptureFixture[str], *commands: str, status: int = 0) -> str:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", TRACE, *arguments]) == status
    captured = capsys.readouterr()
    return captured.err if status else captured.out


def test_the_history_of_a_pixel_has_all_its_targets(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(capsys, "history 16 16")
    assert "pixel 16,16: drawn last by draw 4, object 5, ps kernel 0xffff7100" in text
    assert "sent (193, 31, 32, 255) to 0xfffefffb9000 R8G8B8A8_UINT" in text
    assert "-> (R 0.7569, G 0.1216, B 0.1255, A 1)" in text  # of the draw whose result draw 4 copies
    assert "z 1, depth buffer 0 (0x000000) -> 1 (0xffffff)" in text


def test_a_color_is_followed_through_a_copy_to_the_draw_before(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(capsys, "why 16 16 red")
    assert "component 0 of surface 1 at 0xfffeffc00000 R8G8B8A8_UINT 64x64" in text
    assert "texel (16, 16) of level 0, weight 1: c1 1f 20 ff at 0xfffeffc00900, written by draw 2" in text
    assert "frame 0, submission 0, draw 2, object 3: the shader sent (0.756164, 0.120262, 0.123573, 1)" in text


def test_the_back_trace_leads_to_vertices_of_eight_channels(capsys: pytest.CaptureFixture[str]) -> None:
    lines = debug(capsys, "back-trace 16 16 0xfffeffc00000").splitlines()
    assert "  object 3: TRILIST" in lines
    assert len([line for line in lines if "vs thread 0: vertex index" in line]) == 3


def test_draws_have_the_topology_of_the_command_before_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = debug(capsys, "draw 1", "next", "previous").splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "draw 1: 3DPRIMITIVE RECTLIST", "draw 2: 3DPRIMITIVE TRILIST", "draw 1: 3DPRIMITIVE RECTLIST"]


def test_surfaces_memory_and_breakpoints_are_far(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(capsys, "draw 4", "break ip 0xffff7100", "continue", "surfaces", "x 0xfffeffc00900 4",
                 "print [0xfffeffc00900]:ud")
    assert "0: 2D 0xfffefffb9000 R8G8B8A8_UINT 64x64x1, pitch 256, linear" in text
    assert "1: 2D 0xfffeffc00000 R8G8B8A8_UINT 64x64x1, pitch 256, tiled Y" in text
    assert "0xfffeffc00900  ff201fc1" in text
    assert text.splitlines()[-1] == str(0xFF201FC1)


@pytest.mark.parametrize("command", ["x 0x1000000000000", "break ip 0..0x1000000000000"])
def test_addresses_end_at_48_bits(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "address must be" in debug(capsys, command, status=2)


def test_expressions_name_the_bits_of_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(capsys, "trap every", "continue", "print [0x1000000000000]:ud", status=2)
    assert "address 0x1000000000000 is beyond 48 bits" in text
