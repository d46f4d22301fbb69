"""Traces of unmodified drivers on Gen6 to Gen9: the decoded text, every command line, kernels that assemble again."""

from __future__ import annotations

import difflib
import json
import struct
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.cli.main import run
from gen4emu.decode import Command, Diagnostic, Document, Options
from gen4emu.decode.decoded_state import state_at
from gen4emu.decode.document import Decoder
from gen4emu.decode.kernel_uses import KernelUses
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen, generation_name
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine, Submission
from tests.decode.goldens import TRACES, decoded, golden
from tests.harness.commands import command
from tests.harness.later import DEVICES, LaterDecoder

every_trace = pytest.mark.parametrize("capture", TRACES, ids=lambda path: path.name.partition(".")[0])


def test_each_generation_has_a_trace() -> None:
    with_trace = {path.name.partition(".")[0].rpartition("-")[2] for path in TRACES}
    assert with_trace == {"snb", "ivb", "byt", "hsw", "bdw", "skl", "kbl"} <= set(DEVICES)
    assert {generation_name(BY_NAME[name].gen) for name in with_trace} == {
        generation_name(BY_NAME[name].gen) for name in DEVICES}


@every_trace
def test_the_text_is_the_one_that_was_looked_at(capture: Path) -> None:
    found, wanted = decoded(capture), golden(capture)
    changes = list(difflib.unified_diff(wanted.splitlines(), found.splitlines(), lineterm="", n=1))[:40]
    assert found == wanted, "\n".join(changes)


@every_trace
def test_nothing_is_unknown_unresolved_or_against_a_rule(capture: Path) -> None:
    document = Document(trace.open(capture), options=Options(lint=True))
    found = [d for item in document for d in (
        [item] if isinstance(item, Diagnostic) else
        [d for node in item.walk() for d in node.diagnostics] if isinstance(item, Command) else [])]
    assert [str(d) for d in found] == []


@every_trace
def test_kernels_assemble_to_their_bytes(capture: Path) -> None:
    document = Document(trace.open(capture))
    uses = KernelUses(document)
    for item in document:
        uses.add(item)
    found = uses.found()
    assert len(found) >= 3
    for use in found:
        assert use.code.complete
        assert bytes(assemble(use.text(), use.gen)) == use.code.code
    assert any(use.draws for use in found)


@every_trace
def test_every_verb_reads_it(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, copy = str(capture), str(tmp_path / "copy.g4c")
    for verb in (["decode"], ["decode", "--layout", "libdrm"], ["decode", "--layout", "aubinator"],
                 ["decode", "--lint"], ["decode", "--only", "3DPRIMITIVE,kernel"], ["decode", "--draws", "0"],
                 ["decode", "--repeat", "--no-offsets", "--max-vbo-lines", "-1"], ["info"], ["lint"], ["kernels"]):
        assert run([*verb, name]) == 0, verb
        assert capsys.readouterr().out or verb[-1] in ("lint", "--lint"), verb
    documents = {}
    for verb in (["decode", "--json"], ["info", "--json"], ["lint", "--json"], ["kernels", "--json"]):
        assert run([*verb, name]) == 0, verb
        documents[verb[0]] = json.loads(capsys.readouterr().out)
    assert documents["decode"]["device"]["name"] == capture.name.partition(".")[0].rpartition("-")[2]
    assert documents["decode"]["summary"]["errors"] == 0
    assert run(["kernels", name, "-o", str(tmp_path / "kernels")]) == 0
    assert len(list((tmp_path / "kernels").glob("*.bin"))) == len(documents["kernels"]["kernels"])
    assert run(["convert", name, copy]) == 0
    capsys.readouterr()
    assert run(["info", "--json", copy]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == documents["info"]["counts"]
    assert run(["state", name, "--draw", "0"]) == 0
    assert capsys.readouterr().out.startswith("draw 0: frame 0, submission 0, draw 0\n")
    executes = BY_NAME[documents["decode"]["device"]["name"]].executes
    assert run(["info", name, "--draws", "all"]) == (0 if executes else 2)


@every_trace
def test_the_state_at_a_draw_has_the_last_command_of_each_part(capture: Path) -> None:
    document = Document(trace.open(capture), options=Options(repeat=True))
    items = [item for item in document if isinstance(item, Command)]
    draw = next(item for item in reversed(items) if item.draw is not None)
    assert draw.draw is not None
    document = Document(trace.open(capture), options=Options(repeat=True))
    found = state_at(document, document, draw.draw)
    assert found is not None
    assert found.draw.address == draw.address
    shown = {s.command.body.name: s.command.address for s in found.settings}
    for name in ("3DSTATE_VS", "3DSTATE_CLIP", "3DSTATE_SF", "3DSTATE_WM", "3DSTATE_VERTEX_ELEMENTS"):
        before = items[:next(i for i, item in enumerate(items) if item.draw == draw.draw)]
        assert shown[name] == [c.address for c in before if c.body.name == name][-1]
    assert document.decoder is not None
    position = document.decoder.model.position
    places = [position.get(s.command.body.name, len(position)) for s in found.settings]
    assert places == sorted(places)


def test_state_of_a_part_lasts_until_the_part_is_set_again() -> None:
    machine = LaterDecoder("hsw")
    first = machine.command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[{"vertex_buffer_index": i} for i in (0, 1)])
    second = machine.command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[{"vertex_buffer_index": 1}])
    address = machine.batch(first, second, machine.draw())
    ring = machine.command("MI_BATCH_BUFFER_START", batch_buffer_start_address=address)
    document = Document([], device=machine.device)
    document.decoder = machine.decoder
    found = state_at(document, machine.submit(*ring), 0)
    assert found is not None
    assert [setting.parts for setting in found.settings] == [(0,), ()]


@pytest.mark.parametrize(("context", "rules"), [(1, []), (0, ["wrong-pipeline"])])
def test_state_belongs_to_the_context_of_a_submission(context: int, rules: list[str]) -> None:
    """Also where no page table tells contexts apart, as in captures of programs that ran here."""
    decoder = Decoder(BY_NAME["kbl"], options=Options(lint=True))
    found = []
    for number, (of, batch) in enumerate((
            (context, command("PIPELINE_SELECT", Gen.KBL, mask_bits=3, pipeline_selection=2)),
            (0, command("3DPRIMITIVE", Gen.KBL)))):
        ring = struct.pack(f"<{len(batch)}I", *batch)
        items = decoder.submission(Submission(0, Engine.RENDER, ring, 0x1000, context=of), number)
        found += [d.rule for item in items if isinstance(item, Command) for d in item.diagnostics]
    assert [rule for rule in found if rule == "wrong-pipeline"] == rules
