"""The JSON of docs/decode-json.md: valid, complete, and what was in memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from gen4emu import trace
from gen4emu.decode import SCHEMA, Document, JsonRenderer, Options, TraceStart
from gen4emu.decode.json_text import counted
from gen4emu.decode.nodes import Tally
from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from tests.harness.batch import BATCH, BatchDecoder, pixel_pipeline, table, triangle

TRACES = Path(__file__).parents[2] / "traces"


def document(items: Any) -> dict[str, Any]:
    renderer, tally = JsonRenderer(), Tally()
    parts = [renderer.begin(TraceStart("file", "aub", None))]
    for item in items:
        counted(tally, item)
        if not isinstance(item, TraceStart):
            parts.append(renderer.render(item))
    parts.append(renderer.finish(tally))
    loaded: dict[str, Any] = json.loads("".join(parts))
    return loaded


def test_shape_of_a_document() -> None:
    machine = BatchDecoder()
    machine.batch([0x680B0001], [0x60010000, 7])
    found = document(machine.submit(0x18800080, BATCH, acthd=BATCH))
    assert (found["schema"], found["file"]) == (SCHEMA, "file")
    (submission,) = found["items"]
    assert (submission["kind"], submission["number"], submission["hung"], submission["acthd"]) == (
        "submission", 0, True, BATCH)
    start, batch = submission["commands"]
    assert start == {"kind": "command", "address": 0x1000, "name": "MI_BATCH_BUFFER_START",
                     "dwords": [0x18800080, BATCH],
                     "fields": {"non_secure": False, "memory_space": "GTT", "address": BATCH}}
    assert (batch["kind"], batch["origin"], batch["dwords"], batch["end"]) == ("batch", "ring", 4, "end")
    statistics, entries, _ = batch["commands"]
    assert statistics["guilty"] is True
    assert statistics["fields"] == {"statistics_enable": True}
    (problem,) = entries["diagnostics"]
    assert problem == {"severity": "error", "rule": "out-of-range", "address": BATCH + 4, "where": "CS_URB_STATE",
                       "text": "number_of_urb_entries: 7 is above 4", "field": "number_of_urb_entries", "value": 7}
    assert found["summary"] == {"submissions": 1, "commands": 4, "dwords": 6, "errors": 1, "lint": 0}


def test_state_hangs_below_its_command() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    found = document(machine.run(pointers, pointers, table(machine), *triangle(machine)))
    (batch,) = found["items"]
    first, second = batch["commands"][:2]
    blocks = {s["name"]: s for s in first["state"]}
    assert blocks["WM_STATE"]["fields"]["thread_dispatch_enable"] is True
    (kernel,) = blocks["WM_STATE"]["state"]
    assert (kernel["kind"], kernel["number"], kernel["bytes"], kernel["instructions"]) == ("kernel", 2, 16, 1)
    assert len(bytes.fromhex(kernel["code"])) == 16
    assert [s.get("same") for s in second["state"]] == [True] * 4
    vertices = batch["commands"][-2]["state"][-1]
    assert vertices["rows"][0] == {"vertex": 0, "elements": [[0.0, 1.0, 2.0]]}


def test_what_json_has_no_numbers_for() -> None:
    machine = BatchDecoder()
    color = [0x79010003, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]
    (batch,) = document(machine.run(color))["items"]
    assert list(batch["commands"][0]["fields"].values()) == ["Infinity", "-Infinity", "NaN", 1.0]


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.aub*")), ids=lambda p: p.name)
def test_fields_of_captures_pack_back_to_their_dwords(path: Path) -> None:
    """Every field of every command and block, through the builder, gives the bytes of the capture."""
    found = document(Document(trace.open(path), options=Options()))
    gen = Gen.CTG if "g4x" in path.name else Gen.CL
    checked = 0
    todo = list(found["items"])
    while todo:
        item = todo.pop()
        todo += item.get("commands", []) + item.get("state", [])
        if item["kind"] not in ("command", "state") or item.get("same"):
            continue
        layout = catalogue.command_for(item["dwords"][0], gen) if item["kind"] == "command" else None
        layout = layout or catalogue.block_named(item["name"], gen)
        values = {k: v for k, v in item["fields"].items() if not k.startswith("reserved")}
        packed = layout.pack(gen, **values)
        ignored = [f for f in layout.fields_for(gen) if f.name in item["fields"] and f.name.startswith("reserved")]
        for f in ignored:
            f.insert(packed, item["fields"][f.name])
        assert struct.pack(f"<{len(packed)}I", *packed) == struct.pack(f"<{len(item['dwords'])}I", *item["dwords"])
        checked += 1
    assert checked > 10
