"""The debugger on Ivy Bridge and Haswell: fragments of a pixel, payloads of threads, messages in GRFs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces" / "later"
devices = pytest.mark.parametrize("device", ["ivb", "byt", "hsw"])


def debug(device: str, capsys: pytest.CaptureFixture[str], *commands: str) -> str:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", str(TRACES / f"triangle-{device}.aub.xz"), *arguments]) == 0
    return capsys.readouterr().out


@devices
def test_the_history_of_a_pixel_has_clears_and_the_triangle(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(device, capsys, "history 30 30")
    assert "pixel 30,30: drawn last by draw " in text and ", object 3, ps kernel 0x" in text
    assert "-> (R 0.3725, G 0.2353, B 0.3922, A 1)" in text
    assert "(R 0, G 0, B 0, A 0) -> (R 0.102, G 0.102, B 0.102, A 1)" in text  # the fast clear
    assert "z 1, depth buffer 0 (0x000000) -> 1 (0xffffff)" in text  # of the hierarchical depth buffer, too


@devices
def test_the_back_trace_of_a_pixel_leads_to_the_vertices(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = debug(device, capsys, "back-trace 30 30").splitlines()
    assert "  object 3: TRILIST" in lines  # no setup thread
    assert [line for line in lines if "vertex at" in line] == [
        "    vertex at (-0.8, -0.7, 0), 1/w 1", "    vertex at (0.9, -0.5, 0), 1/w 1",
        "    vertex at (0.1, 0.85, 0), 1/w 1"]
    assert [line.split(" (")[0] for line in lines if "vertex index" in line] == [
        f"      vs thread {thread}: vertex index {index}" for thread, index in ((0, 0), (0, 1), (1, 2))]


@pytest.mark.parametrize("device", ["ivb", "byt", "hsw", "kbl"])
def test_draws_are_shown_without_the_state_blocks_of_gen4(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "3DPRIMITIVE TRILIST, 3 vertices from 0" in debug(device, capsys, "next", "next", "next", "next", "next")


@devices
def test_a_vertex_thread_has_handles_and_two_vertices(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(device, capsys, "trap every in vs", "continue", "thread")
    assert "channels 00ff: dispatched 00ff" in text
    assert "urb_return_handle_0 0, urb_return_handle_1 2" in text
    assert "vertex index 0" in text and "vertex index 1" in text


@devices
def test_messages_have_the_names_and_payloads_of_the_generation(device: str,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(device, capsys, "trap every in vs", "continue", "trace messages in vs", "continue")
    assert "urb" in text and "offset 0 write HWord interleave complete mlen 5 rlen 0" in text
    assert "    g113 00000000 00000002" in text  # the header, with both handles


ROUND_UP = "patch 0x10b008 'mov(1) cr0<1>UD 0x10UD { align1 WE_all 1N };'"
ADD_DOUBLES = "patch 0x10b028 'add(4) g20<1>DF g22<4,4,1>DF g24<4,4,1>DF { align1 1N };'"


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_steps_and_breakpoints_stay_when_a_thread_sets_its_rounding_mode(
        device: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = debug(device, capsys, "trap every in vs", "c", ROUND_UP, "delete 1", *["step"] * 3, "break eot in vs", "c")
    *_, written, after, end = [line.split()[1] for line in text.splitlines() if line.startswith("=>")]
    assert (written, after, end) == ("0x0010b018", "0x0010b028", "0x0010b048")


def test_instructions_with_doubles_are_observed(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug("hsw", capsys, "trap every", "c", ADD_DOUBLES, "delete 1", "break address 0x10b028 in vs", "c", "step")
    assert [line.split()[1] for line in text.splitlines() if line.startswith("=>")][-2:] == ["0x0010b028", "0x0010b038"]


def test_colors_of_a_render_target_write_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    text = debug("ivb", capsys, "trap every in ps", "continue", "trace messages in ps", "continue")
    at = text.splitlines().index(next(line for line in text.splitlines() if "RT write SIMD16/RepData" in line))
    assert text.splitlines()[at + 1].split() == ["g114", *["0"] * 8]  # not 00000000; there is no header
