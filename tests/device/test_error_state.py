"""Error states of hung devices: readable, marked at the guilty command, hanging again in a replay."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from gen4emu.cli.main import run as gen4emu
from gen4emu.device.command_streamer import BadCommand
from gen4emu.device.error_state import write_error_state
from gen4emu.device.events import EuHang
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.errors import HangError
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine, ErrorState, MemoryWrite, Submission
from gen4emu.trace.reader import Trace
from gen4emu.trace.reader import open as open_trace
from gen4emu.trace.write_aub import AubWriter
from tests.harness.commands import BATCH, DATA, END, NOOP, RING, Machine, command, joined, start_batch, store
from tests.harness.scene import Scene, vertex

UNKNOWN = [0x7FFF0001, 0, 0]  # no command, of three dwords
ENDLESS = "while(8) -32 { align1 };"


def strict() -> Machine:
    return Machine(strict=True, max_batch_dwords=1 << 14)


def hang(machine: Machine, *commands: Sequence[int]) -> str:
    with pytest.raises(BadCommand) as caught:
        machine.run(*commands)
    return str(caught.value)


def text_of(machine: Machine, **how: object) -> str:
    stream = io.BytesIO()
    write_error_state(machine.device, stream, **how)
    return stream.getvalue().decode()


@pytest.mark.parametrize("name", ["ivb", "byt", "hsw"])
def test_gen7_has_registers_of_its_own(name: str) -> None:
    machine = Machine(name, strict=True, max_batch_dwords=1 << 14)
    hang(machine, NOOP, UNKNOWN)
    lines = text_of(machine).splitlines()
    assert "EIR: 0x00000001" in lines and "ERROR: 0x00000000" in lines
    assert not any(line.startswith("PGTBL_ER") for line in lines)
    assert f"  IPEHR: 0x{UNKNOWN[0]:08x}" in lines
    machine.device.reset()
    assert (machine.register("RENDER_EIR"), machine.register("RENDER_IPEHR")) == (0, 0)


def test_the_text_has_the_lines_of_the_kernel() -> None:
    machine = strict()
    reason = hang(machine, NOOP, UNKNOWN)
    lines = text_of(machine, reason=reason, process="gears", pid=77).splitlines()
    assert lines[0].startswith("GPU HANG: ecode 4:1:") and lines[0].endswith(", in gears [77]")
    assert "PCI ID: 0x2a42" in lines
    assert "EIR: 0x00000001" in lines
    assert "rcs0 command stream:" in lines
    assert f"  ACTHD: 0x00000000 {BATCH + 4 | 1:08x}" in lines
    assert f"  IPEHR: 0x{UNKNOWN[0]:08x}" in lines
    assert "  IPEIR: 0x00000008" in lines
    assert "  INSTDONE: 0xfffffffd" in lines
    assert f"rcs0 --- batch = 0x00000000 {BATCH:08x}" in lines
    assert any(line.startswith("  fence[15] = ") for line in lines)


def test_names_cannot_forge_lines() -> None:
    machine = strict()
    hang(machine, UNKNOWN)
    assert "\nPCI ID: 0x2a42\n" in text_of(machine, process="a\nPCI ID: 0x0001", reason="b\r\nc")
    assert text_of(machine, process="a\nPCI ID: 0x0001").count("\nPCI ID") == 1


def test_the_reader_gives_back_memory_registers_and_the_submission(tmp_path: Path) -> None:
    machine = strict()
    machine.device.memory.write(0x700000, b"far away")
    ring = joined(NOOP, NOOP, start_batch(BATCH), NOOP, NOOP)
    machine.put(BATCH, NOOP, UNKNOWN, END)
    with pytest.raises(BadCommand):
        machine.device.submit(Submission(0, Engine.RENDER, ring, RING + 0x40))
    path = tmp_path / "hang.error"
    write_error_state(machine.device, path)
    events = list(open_trace(str(path)))
    written = {e.address: bytes(e.data) for e in events if isinstance(e, MemoryWrite)}
    assert written[0x700000].startswith(b"far away")
    assert written[BATCH].startswith(joined(NOOP, UNKNOWN))
    [state] = [e for e in events if isinstance(e, ErrorState)]
    assert state.registers["render.HEAD"] == 0x48  # where the request begins that hung
    assert state.registers["render.TAIL"] == 0x58
    assert state.registers["render.CTL"] == 1
    [submission] = [e for e in events if isinstance(e, Submission)]
    assert submission.hung and submission.acthd == BATCH + 4
    assert submission.ring_address == RING + 0x48 and submission.ring[:8] == joined(start_batch(BATCH))


def test_a_hang_in_a_wrapped_ring(tmp_path: Path) -> None:
    machine = strict()
    ring = joined(NOOP, NOOP, NOOP, UNKNOWN)
    with pytest.raises(BadCommand):
        machine.device.submit(Submission(0, Engine.RENDER, ring, RING + 0xFF8, wrap=(RING, 0x1000)))
    write_error_state(machine.device, tmp_path / "hang.error")
    [submission] = [e for e in open_trace(str(tmp_path / "hang.error")) if isinstance(e, Submission)]
    assert submission.acthd == RING + 4
    assert submission.ring == joined(UNKNOWN)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_decode_marks_the_guilty_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    machine = strict()
    hang(machine, NOOP, command("STATE_BASE_ADDRESS"), UNKNOWN)
    path = tmp_path / f"hang.error{suffix}"
    write_error_state(machine.device, path)
    gen4emu(["decode", str(path)])
    lines = capsys.readouterr().out.splitlines()
    [mark] = [i for i, line in enumerate(lines) if "command streamer stopped here" in line]
    assert f"{BATCH + 28:08x}" in lines[mark + 1]


def test_error_states_locate_endless_and_unmapped_batches() -> None:
    machine = strict()
    hang(machine, *[NOOP] * 1022, start_batch(BATCH))
    assert "Reason: " not in text_of(machine)
    machine = strict()
    hang(machine, start_batch(0xF0000000))
    text = text_of(machine)
    assert "PGTBL_ER: 0x00100000" in text
    assert f"batch = 0x00000000 {BATCH:08x}" in text


def endless_pixels() -> Scene:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, watchdog=1))
    scene.pixel_kernel = assemble("do(8) { align1 };\nwhile(8) -1 { align1 };", Gen.CTG)
    return scene


def test_an_endless_kernel_hangs_again_when_its_error_state_is_replayed(tmp_path: Path) -> None:
    scene = endless_pixels()
    with pytest.raises(EuHang) as first:
        scene.draw([vertex(1, 1), vertex(14, 2), vertex(3, 13)])
    assert not scene.device.registers.view("RENDER_INSTDONE").windower  # it waits
    path = tmp_path / "hang.error"
    write_error_state(scene.device, path, reason=str(first.value))
    run = Replay(open_trace(str(path)), None, Options(workers=1, watchdog=1))
    with pytest.raises(EuHang) as second:
        list(run.frames())
    run.close()
    assert str(second.value) == str(first.value)


def test_a_reset_device_draws_again() -> None:
    scene = endless_pixels()
    good = Scene(Gen.CTG, 16, 16).pixel_kernel
    with pytest.raises(EuHang):
        scene.draw([vertex(1, 1), vertex(14, 2), vertex(3, 13)])
    scene.device.reset()
    assert scene.device.registers.view("RENDER_ACTHD").address == 0
    assert scene.device.streamers[Engine.RENDER].state.raw.wm_state == 0
    scene.pixel_kernel = good
    scene.draw([vertex(1, 1), vertex(14, 2), vertex(3, 13)])
    assert len(scene.lit()) > 50


def test_the_next_ring_does_not_resume_a_batch_that_hung() -> None:
    machine = strict()
    hang(machine, NOOP, UNKNOWN, store(DATA, 5))
    machine.submit(NOOP, NOOP)
    assert machine.dwords(DATA, 1) == [0]


def test_the_error_state_of_a_large_memory_keeps_what_the_state_points_to() -> None:
    machine = strict()
    for i in range(8):
        machine.device.memory.write(0x4000000 + 2 * (i << 20), b"x" * (1 << 20))
    hang(machine, command("3DSTATE_PIPELINED_POINTERS", pointer_to_wm_state=0x4600000), UNKNOWN)
    machine.state.wm_state = 0x4A00000
    sections = [line[-8:] for line in text_of(machine, limit_bytes=(1 << 20) + 0x1000).splitlines() if "--- " in line]
    assert sections == [f"{BATCH:08x}", f"{DATA:08x}", "04a00000"]


def test_replay_writes_the_error_state_of_a_hang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    aub = tmp_path / "bad.aub"
    with AubWriter(str(aub), BY_NAME["gm45"]) as writer:
        writer.write_memory(BATCH, joined(NOOP, UNKNOWN, END))
        writer.submit(Engine.RENDER, joined(start_batch(BATCH)), RING)
    out = tmp_path / "out"
    assert gen4emu(["replay", str(aub), "--strict", "-o", str(out)]) == 3
    (path,) = out.glob("*.error.*")
    assert path.name == "hang-00000.error.gz"
    assert str(path) in capsys.readouterr().err
    assert gen4emu(["info", str(path)]) == 0


@pytest.mark.parametrize("device", ["g45", "g965"])
@pytest.mark.parametrize("base", [0, 0x1000, 0x12300000])
def test_the_hang_of_a_raw_batch_hangs_again(base: int, device: str, tmp_path: Path) -> None:
    """Its ring was made up: the error state must have it at an address that the page table maps."""
    batch, state = tmp_path / "h.bin", tmp_path / "h.error.gz"
    batch.write_bytes(joined(UNKNOWN, END))

    def hang_of(trace: Trace) -> tuple[str, Replay]:
        run = Replay(trace, options=Options(strict=True))
        with pytest.raises(HangError) as caught:
            list(run.frames())
        return str(caught.value), run

    reason, run = hang_of(open_trace(batch, device=device, kind="raw", base=base))
    assert run.device is not None
    write_error_state(run.device, state, reason=reason)
    run.close()
    again, run = hang_of(open_trace(state))
    run.close()
    assert again == reason


def test_hang_errors_are_what_a_caller_needs_to_catch() -> None:
    assert issubclass(BadCommand, HangError) and issubclass(EuHang, HangError)
