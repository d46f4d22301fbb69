"""`gen4emu trim`: parts of traces."""

from __future__ import annotations

import json
import lzma
import struct
from pathlib import Path

import pytest

import gen4emu
from gen4emu.bisect.digests import digest_of
from gen4emu.cli.main import run
from gen4emu.device.device import Device
from gen4emu.hw.catalogue import catalogue_of, command_named
from gen4emu.hw.chips import device_named
from gen4emu.hw.gen75.mi import AluOpcode, AluOperand
from gen4emu.repro.script import Script, batch_of, parse, start_of_batch
from gen4emu.repro.trim import Span, span_of_surface
from gen4emu.trace.conversion import container_of, copy_event, new_writer
from gen4emu.trace.events import FrameBoundary, Submission, SurfaceDump
from gen4emu.trace.reader import open as open_trace
from gen4emu.trace.write_aub import Dedup

TRACES = Path(__file__).parents[2] / "traces"


def digests(trace: Path, draws: str = "all") -> list[list[str]]:
    with gen4emu.open(trace) as opened:
        return [[target.digest for target in digest_of(draw).targets] for draw in opened.draws(draws)]


def write_in_two(script: Script, path: Path) -> None:
    """The state commands of a script in a submission, its draw in another one, without frame marks."""
    gen = script.device.gen
    with new_writer(container_of(path), path, script.device, "", Dedup.NONE) as writer:
        for address, data in script.memory:
            writer.write_memory(address, data)
        for number, commands in enumerate((script.commands[:-1], script.commands[-1:])):
            address = script.batch + 0x10000 * number
            writer.write_memory(address, batch_of(commands, gen), "batch")
            writer.submit(script.engine, start_of_batch(address, script.device), script.ring)


@pytest.mark.parametrize(("name", "selection", "expected"), [
    ("gears-4frames-g4x", ["--draws", "15-20"], "15-20"), ("fbo-g4x", ["--submissions", "0"], "all"),
    ("blend-brw", ["--draws", "2"], "2"), ("later/triangle-ivb", ["--draws", "2-3"], "2-3"),
    ("later/triangle-hsw", ["--draws", "1-"], "1-"), ("later/triangle-kbl", ["--draws", "2"], "2"),
    ("later/triangle-kbl", ["--submissions", "2"], "3-"), ("later/triangle-kbl", ["--submissions", "0-2"], "all")])
def test_a_part_draws_as_the_whole_trace_and_is_smaller(name: str, selection: list[str], expected: str,
                                                        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, part = TRACES / f"{name}.aub.xz", tmp_path / "part.aub.xz"
    assert run(["trim", str(trace), *selection, "-o", str(part)]) == 0
    assert "begins at the start" not in capsys.readouterr().err
    assert digests(part) == digests(trace, expected)
    assert part.stat().st_size <= trace.stat().st_size
    assert run(["replay", "--no-pictures", "--strict", "--json", str(part)]) == 0
    assert json.loads(capsys.readouterr().out)["faults"] == []  # nothing is read that is missing
    assert [file.name for file in tmp_path.iterdir()] == ["part.aub.xz"]


@pytest.mark.parametrize(("name", "address", "expected"), [
    ("mpeg2-g4x", "0x1b7000", "6-11"), ("later/triangle-kbl", "0xfffefffb9000", "3-"),
    ("gears-4frames-g4x", "0x154000", "all")])  # the depth buffer
def test_the_frames_that_draw_to_a_surface_are_kept(name: str, address: str, expected: str, tmp_path: Path) -> None:
    trace, part = TRACES / f"{name}.aub.xz", tmp_path / "part.aub.xz"
    assert run(["trim", "-q", str(trace), "--keep-frames-of", address, "-o", str(part)]) == 0
    assert digests(part) == digests(trace, expected)


@pytest.mark.parametrize(("address", "first", "last"), [
    (0x1B7000, 1, 2),  # drawn to in the second frame
    (0x1CD000, 3, 4), (0x103000, 0, 4),  # in what follows the last mark, in the first frame as well
    (0x1000, 1, 2)])  # shown at the end of the second one
def test_frames_end_at_marks(address: int, first: int, last: int, tmp_path: Path) -> None:
    """Five submissions, with marks behind the first and the third."""
    source, marked = open_trace(str(TRACES / "mpeg2-g4x.aub.xz"), again=True), tmp_path / "marked.aub"
    device = device_named("gm45")
    assert device is not None
    marks = {1: FrameBoundary(0), 3: SurfaceDump(0, 0x1000, 0, 0, 8, 8, 4, 32, 7, "linear")}
    submissions = 0
    with new_writer("aub", marked, device, "", Dedup.NONE) as writer:
        for event in list(source)[1:]:
            copy_event(event, writer)
            submissions += isinstance(event, Submission)
            if isinstance(event, Submission) and submissions in marks:
                copy_event(marks[submissions], writer)
    with gen4emu.open(marked) as opened:
        assert span_of_surface(opened, open_trace(str(marked), again=True), address) == Span(first, last)


def test_a_part_whose_memory_is_larger_than_the_trace_begins_at_its_start(tmp_path: Path,
                                                                          capsys: pytest.CaptureFixture[str]) -> None:
    trace, part = TRACES / "mpeg2-g4x.aub.xz", tmp_path / "part.aub.xz"
    assert run(["trim", str(trace), "--frames", "3", "-o", str(part)]) == 0
    assert "begins at the start" in capsys.readouterr().err
    assert digests(part) == digests(trace)[:4]
    assert part.stat().st_size < trace.stat().st_size


@pytest.mark.parametrize("name", ["texture-g4x", "later/triangle-ivb"])
def test_commands_set_the_state_in_force_and_a_capture_expects_what_was_drawn(
        name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repro, whole, part = tmp_path / "repro", tmp_path / "whole.aub", tmp_path / "part.g4c"
    draw = "0" if name == "texture-g4x" else "4"
    assert run(["export", str(TRACES / f"{name}.aub.xz"), "--draw", draw, "-o", str(repro)]) == 0
    write_in_two(parse(repro / "batch.txt"), whole)
    assert run(["trim", str(whole), "--submissions", "1", "-o", str(part)]) == 0
    assert digests(part) == digests(whole)
    with gen4emu.open(part) as opened:
        assert len(list(opened.submissions())) == 1
    assert run(["info", str(part)]) == 0
    capsys.readouterr()
    assert run(["replay", "--no-pictures", "--json", str(part)]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []  # memory is as the capture expects it


def test_registers_that_commands_have_loaded_are_loaded_again(tmp_path: Path) -> None:
    """Drivers make constant addresses absolute once, and load other registers later."""
    repro, whole, part = tmp_path / "repro", tmp_path / "whole.aub", tmp_path / "part.g4c"
    assert run(["export", str(TRACES / "later" / "triangle-ivb.aub.xz"), "--draw", "4", "-o", str(repro)]) == 0
    script = parse(repro / "batch.txt")
    load, gen = command_named("MI_LOAD_REGISTER_IMM", script.device.gen), script.device.gen
    instpm, other_bits, chicken = (0x20C0, 0x00400040), (0x20C0, 0x00200020), (0xE184, 0xFFFF1234)
    script.commands[:0] = [tuple(load.pack(gen, writes=[{"register_offset": offset, "data": data}]))
                           for offset, data in (instpm, other_bits, chicken)]
    write_in_two(script, whole)
    assert run(["trim", str(whole), "--submissions", "1", "-o", str(part)]) == 0
    assert digests(part) == digests(whole)
    with Device(script.device) as device:
        for event in open_trace(str(part)):
            device.apply(event)
        assert device.registers.read(instpm[0]) & 0x60 == 0x60
        assert device.registers.read(chicken[0]) == 0x1234
        assert device.state.gen7.constants_absolute


def indirect(chip: str, draw: str, repro: Path) -> Script:
    """A draw whose parameters commands have computed: all from memory but for the number of its vertices, a sum."""
    assert run(["export", str(TRACES / "later" / f"triangle-{chip}.aub.xz"), "--draw", draw, "-o", str(repro)]) == 0
    script = parse(repro / "batch.txt")
    gen, words = script.device.gen, list(script.commands[-1])
    _, access, count, *others = words[:7] if len(words) > 6 else (words[0], 0, *words[1:])
    table = script.batch + 0x40000
    script.memory.append((table, struct.pack("<5I", count - 1, *others).ljust(4096, b"\0")))

    def load(name: str, place: int) -> tuple[int, ...]:
        return tuple(command_named("MI_LOAD_REGISTER_MEM", gen).pack(
            gen, register_address=catalogue_of(gen).register(name).offset, memory_address=table + 4 * place))

    immediate = [{"register_offset": catalogue_of(gen).register("CS_GPR_R1").offset, "data": 1}]
    alu = command_named("MI_MATH", gen).pack(gen, instructions=[
        {"alu_opcode": AluOpcode.LOAD, "operand_1": AluOperand.SRCA, "operand_2": 0},
        {"alu_opcode": AluOpcode.LOAD, "operand_1": AluOperand.SRCB, "operand_2": 1},
        {"alu_opcode": AluOpcode.ADD},
        {"alu_opcode": AluOpcode.STORE, "operand_1": 0, "operand_2": AluOperand.ACCU}])
    move = command_named("MI_LOAD_REGISTER_REG", gen).pack(
        gen, source_register_address=catalogue_of(gen).register("CS_GPR_R0").offset,
        destination_register_address=catalogue_of(gen).register("3DPRIM_VERTEX_COUNT").offset)
    parameters = ("START_VERTEX", "INSTANCE_COUNT", "START_INSTANCE", "BASE_VERTEX")
    script.commands[-1:] = [
        load("CS_GPR_R0", 0), tuple(command_named("MI_LOAD_REGISTER_IMM", gen).pack(gen, writes=immediate)), tuple(alu),
        tuple(move), *(load(f"3DPRIM_{name}", i + 1) for i, name in enumerate(parameters)),
        (words[0] | command_named("3DPRIMITIVE", gen).field("indirect_parameter_enable", gen).mask
         << command_named("3DPRIMITIVE", gen).field("indirect_parameter_enable", gen).lo, access, *[0] * 5)]
    return script


@pytest.mark.parametrize(("chip", "draw"), [("hsw", "3"), ("kbl", "2")])
def test_registers_that_commands_have_computed_are_loaded_again(chip: str, draw: str, tmp_path: Path) -> None:
    """A draw with parameters from memory, of which a sum is in a general register: memory may have changed since."""
    repro, again, whole, part = (tmp_path / name for name in ("repro", "again", "whole.aub", "part.aub"))
    script = indirect(chip, draw, repro)
    write_in_two(script, whole)
    drawn = digests(repro / "draw.aub.xz")
    assert digests(whole) == drawn
    assert run(["trim", str(whole), "--submissions", "1", "-o", str(part)]) == 0
    assert digests(part) == drawn
    assert run(["export", str(whole), "--draw", "0", "-o", str(again)]) == 0
    assert digests(again / "draw.aub.xz") == drawn
    with Device(script.device) as device:
        for event in open_trace(str(part)):
            device.apply(event)
        assert device.registers.read(device.registers.offset("CS_GPR_R0")) == script.memory[-1][1][0] + 1


def test_a_trace_of_a_hang_is_trimmed_to_the_submission_that_hangs(tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    repro, whole, part = tmp_path / "repro", tmp_path / "whole.aub", tmp_path / "part.aub"
    assert run(["export", str(TRACES / "texture-g4x.aub.xz"), "--draw", "0", "-o", str(repro)]) == 0
    script = parse(repro / "batch.txt")
    script.commands[-1:] = [script.commands[-1], (0x7FFF0000,)]  # no command of the chip: the parser hangs
    write_in_two(script, whole)
    with pytest.raises(gen4emu.HangError) as expected, gen4emu.open(whole) as opened:
        list(opened.draws())
    assert run(["trim", str(whole), "--hang", "-o", str(part)]) == 0
    with pytest.raises(gen4emu.HangError) as found, gen4emu.open(part) as opened:
        list(opened.draws())
    assert found.value.reason == expected.value.reason
    assert part.stat().st_size <= whole.stat().st_size


@pytest.mark.parametrize(("arguments", "error"), [
    ([], "name exactly one of --frames, --submissions, --draws, --keep-frames-of and --hang"),
    (["--keep-frames-of", "0x1"], "no frame draws to a surface at 0x00000001, or shows it"),
    (["--keep-frames-of", "x"], "'x' is not an address"),
    (["--draws", "0", "--hang"], "name exactly one of"),
    (["--draws", "9"], "no draw 9"),
    (["--frames", "7"], "no frame 7: it has 1 frame, 0"),
    (["--hang"], "nothing hangs"),
])
def test_a_part_that_does_not_exist_is_an_error_and_nothing_is_written(
        arguments: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trim", str(TRACES / "texture-g4x.aub.xz"), *arguments, "-o", str(tmp_path / "x.aub")]) == 2
    assert error in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_trace_is_trimmed_only_if_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, part = tmp_path / "cut.aub", tmp_path / "part.aub"
    whole.write_bytes(lzma.decompress((TRACES / "mpeg2-g4x.aub.xz").read_bytes())[:-8])
    assert run(["trim", str(whole), "--submissions", "0", "-o", str(part)]) == 2
    assert not part.exists()
    assert run(["trim", str(whole), "--submissions", "0", "--partial", "-o", str(part)]) == 0
    assert len(digests(part)) == 1
    capsys.readouterr()


@pytest.mark.parametrize(("name", "output", "draws", "reported"), [
    ("later/triangle-ivb", "part.g4c", "1", "warning"), ("clear-g4x", "part.g4c", "0-1", "begins at the start of"),
    ("texture-g4x", "part.aub.xz", "0-1", "holds all of"), ("texture-g4x", "part.aub", "0-1", "warning")])
def test_of_a_tiny_trace_the_smallest_file_is_written(name: str, output: str, draws: str, reported: str,
                                                      tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its part has more events than it has itself, or its container has more bytes."""
    trace, part, whole = TRACES / f"{name}.aub.xz", tmp_path / output, tmp_path / f"whole-{output}"
    assert run(["trim", str(trace), "--draws", "1", "-o", str(part)]) == 0
    said = capsys.readouterr().err
    assert reported in said
    assert ("warning" in said) == (part.stat().st_size > trace.stat().st_size)
    assert digests(part) == digests(trace, draws)
    assert run(["-q", "convert", str(trace), str(whole)]) == 0
    assert part.stat().st_size <= whole.stat().st_size
    assert {path.name for path in tmp_path.iterdir()} == {part.name, whole.name}
