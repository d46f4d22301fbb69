"""The code of the page: what one file of it leaves out, and what it must keep."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.report.writer import code

WEB = files("gen4emu.report") / "web"
TRACES = Path(__file__).parents[2] / "traces"


def written(name: str) -> str:
    return WEB.joinpath(f"{name}.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("compares", [False, True])
def test_only_spaces_and_comments_are_left_out(compares: bool) -> None:
    found = code(compares)
    others = {"start"} if compares else {"pair", "compare", "start_comparison"}
    kept = {path.name.removesuffix(".js") for path in WEB.iterdir() if path.name.endswith(".js")} - others
    dense = re.sub(r"\s", "", found)
    for name in kept:
        lines = [line.partition("  // ")[0] for line in written(name).splitlines()
                 if not line.strip().startswith(("//", "import "))]
        text = re.sub(r"(?m)^export ", "", "\n".join(lines))
        assert re.sub(r"\s", "", text) in dense, name
        for string in re.findall(r'"(?:[^"\\\n]|\\.)*"|`[^`\n]*`', text):
            assert string in found, f"{name}: {string}"


def test_the_page_of_one_trace_is_small_and_has_no_comparison(tmp_path: Path) -> None:
    assert run(["-q", "report", str(TRACES / "triangle-g4x.aub.xz"), "-o", str(tmp_path)]) == 0
    page = (tmp_path / "index.html").read_text()
    parts = re.findall(r'<(?:style|script type="module")>(.*?)</(?:style|script)>', page, re.DOTALL)
    assert len(parts) == 2
    assert sum(len(part.encode()) for part in parts) < 80_000
    assert "ComparePane" not in page


def test_no_line_holds_a_part_of_a_template() -> None:
    """Spaces at the start of a line could belong to it."""
    for path in WEB.iterdir():
        if path.name.endswith(".js"):
            for line in path.read_text(encoding="utf-8").splitlines():
                assert line.count("`") % 2 == 0 or line.strip().startswith("//"), f"{path.name}: {line}"
