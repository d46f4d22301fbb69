"""docs/json.md names exactly the keys that the commands print, and docs/decode-json.md those of decode."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
TRACES = ROOT / "traces"
TRIANGLE = str(TRACES / "triangle-g4x.aub.xz")
Document = dict[str, Any]


def tables(section: str) -> dict[str, dict[str, bool]]:
    """The keys of each table of a section, by the object they belong to ("" is the document); True: optional."""
    text = re.split(r"^###? ", PAGE, flags=re.MULTILINE)
    body = next(part for part in text if part.startswith(f"{section}\n"))
    found: dict[str, dict[str, bool]] = {}
    for table in re.finditer(r"^\| key(?: of an? (\w+))? \| value \|\n\|---\|---\|\n((?:\|.*\n)+)", body, re.MULTILINE):
        keys = found.setdefault(table[1] or "", {})
        for row in table[2].splitlines():
            names, value = row.strip("| ").split(" | ", 1)
            keys |= dict.fromkeys(re.findall(r"`(\w+)`", names), value.startswith("optional"))
    return found


def rows(*path: str) -> Callable[[Document], list[Document]]:
    """The objects below a document: `rows("cases", "pictures")` are the pictures of all cases."""
    def pick(document: Document) -> list[Document]:
        found = [document]
        for name in path:
            found = [item for d in found for item in (d[name] if isinstance(d[name], list) else [d[name]])]
        return found
    return pick


@pytest.mark.parametrize(("section", "arguments", "objects"), [
    ("info", [TRIANGLE], {"device": rows("device"), "submission": rows("submissions"), "range": rows("memory"),
                          "surface": rows("surfaces"), "kernel": rows("kernels")}),
    ("info --draws", [TRIANGLE], {"draw": rows("draws")}),
    ("lint", ["--severity", "info", TRIANGLE], {"finding": rows("findings")}),
    ("lint", [str(ROOT / "README.md"), TRIANGLE], {}),
    ("kernels", [TRIANGLE], {"kernel": rows("kernels")}),
    ("kernels", [TRIANGLE, "-o", "OUT"], {"kernel": rows("kernels")}),
    ("state", [TRIANGLE, "--draw", "0"], {"setting": rows("settings")}),
    ("bisect", [TRIANGLE, "--options", "fp-rounding=rtz,rtne"], {"instruction": rows("instruction")}),
    ("bisect", [TRIANGLE, str(TRACES / "texture-g4x.aub.xz")], {"cause": rows("causes")}),
    ("report", [TRIANGLE, "-o", "OUT"], {}),
    ("report", [TRIANGLE, "--against", TRIANGLE, "-o", "OUT"], {}),
    ("devices", [], {"device": rows("devices")}),
    ("selftest", [], {}),
    ("check", [str(TRACES), "-k", "clear-g4x"], {"case": rows("cases"), "picture": rows("cases", "pictures")}),
    ("diff", [str(TRACES / "gears.reference.png"), str(TRACES / "blend.reference.png")], {}),
])
def test_documents_have_the_keys_of_the_page(section: str, arguments: list[str], tmp_path: Path,
                                             objects: dict[str, Callable[[Document], list[Document]]],
                                             capsys: pytest.CaptureFixture[str],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [str(tmp_path) if a == "OUT" else a for a in arguments]
    status = run([*section.split(), "--json", *arguments])
    document = json.loads(capsys.readouterr().out)
    assert list(document)[:2] == ["schema", "file"]
    name = section.replace(" --", ".")
    assert re.fullmatch(rf"gen4emu\.{name}/\d+", document["schema"])
    assert f"`{document['schema']}`" in PAGE
    assert document["status"] == status and all(isinstance(text, str) for text in document.get("errors", ()))
    documented = tables(section)
    compare([document], documented[""])
    for name, pick in objects.items():
        found = pick(document)
        assert found, name
        compare(found, documented[name])


def test_the_list_of_reports_has_the_keys_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--json", TRIANGLE, "missing.aub", "-o", str(tmp_path)]) == 2
    document = json.loads(capsys.readouterr().out)
    documented = tables("report of several traces")
    assert f"`{document['schema']}`" in PAGE
    compare([document], documented[""])
    compare(document["reports"], documented["report"])


def test_every_counter_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--draws", "--json", TRIANGLE]) == 0
    document = json.loads(capsys.readouterr().out)
    compare([document["total"], *rows("draws", "counters")(document)], tables("Counters")[""])
    for unit in ("vertices", "objects", "fragments", "media"):
        (listed,) = re.findall(rf"^\| `{unit}` \| (`\w+`(?:, `\w+`)*) \|$", PAGE, re.MULTILINE)
        assert set(re.findall(r"\w+", listed)) == set(document["total"][unit])


def compare(found: Iterable[Document], keys: dict[str, bool]) -> None:
    needed = {key for key, optional in keys.items() if not optional}
    for one in found:
        assert needed <= set(one) <= set(keys), (needed - set(one), set(one) - set(keys))


def test_decode_has_the_members_of_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "decode-json.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[`\"](\w+)[`\"]", page))
    seen: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            seen.update(value)
            for key, item in value.items():
                if key not in ("fields", "registers"):
                    walk(item)

    for trace in ("triangle-g4x", "mpeg2-g4x"):
        assert run(["decode", "--json", str(TRACES / f"{trace}.aub.xz")]) == 0
        walk(json.loads(capsys.readouterr().out))
    assert {"kind", "address", "dwords", "fields", "state", "role"} <= seen
    assert seen - named == set()
