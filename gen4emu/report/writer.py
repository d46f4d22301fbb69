"""Writes a report: a directory with a page and its chunks, or one file that holds all of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from gen4emu import single_page
from gen4emu.errors import DecodeError
from gen4emu.image.picture import replacing
from gen4emu.report.chunks import CHUNK_START, script
from gen4emu.report.record import Recorded

# The modules of the page: each one needs only those before it.
MODULES = ("dom", "source", "list", "filter", "picture", "thumbnail", "overview", "events", "draw", "mesh", "surfaces",
           "kernel", "statistics", "app")
_START, _COMPARISON = ("start",), ("pair", "compare", "start_comparison")
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_STRING = re.compile(r'("(?:[^"\\]|\\.)*"|`[^`]*`)')
_AROUND_SIGNS = re.compile(r"\s*([{}()\[\],;:=<>*?&|!]|(?<![+-]) [+-] (?![+-]))\s*")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_AROUND_CSS_SIGNS = re.compile(r"\s*([{};,>])\s*|(?<=:)\s+")
_SUMMARY_ROWS = 100
PAGE = "index.html"
DATA = "data"  # the directory of chunks

# The chunks that one file leaves out to stay small, in this order.
_EXPENDABLE = tuple((re.compile(pattern), noun) for pattern, noun in (
    (r"(left|right)-picture-", "full-size pictures of the sides"), (r"(picture|mask)-", "full-size pictures"),
    (r"(left-|right-)?maps-", "overlays"),
    (r"(left-|right-)?bytes-", "bytes of surfaces"), (r"(left-|right-)?mesh-", "meshes"),
    (r"(left-|right-)?thumbs-", "thumbnails")))


def code(compares: bool) -> str:
    """The modules as one: a page that was opened from a file must not import others."""
    web = files("gen4emu.report") / "web"
    texts = (web.joinpath(f"{name}.js").read_text(encoding="utf-8")
             for name in (*MODULES, *(_COMPARISON if compares else _START)))
    return _compact("".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts))


def _compact(script: str) -> str:
    """Without comments, indentation and spaces around signs; lines stay, as they may end statements."""
    lines = (_without_comment(line.strip()) for line in script.splitlines())
    return "".join(_compact_line(line) + "\n" for line in lines if line)


def _without_comment(line: str) -> str:
    """Comments begin a line or follow two spaces, which no string does before two slashes."""
    return "" if line.startswith("//") else line.partition("  // ")[0]


def _compact_line(line: str) -> str:
    if line.count("`") not in (0, 2) or not _MAY_HOLD_SPACES.isdisjoint(_STRING.sub("", line).replace(_DIVISION, "")):
        return line  # a template in another one, or a regular expression
    return "".join(part if i % 2 else _AROUND_SIGNS.sub(lambda sign: sign[1].strip(), part.replace(_DIVISION, "/"))
                   for i, part in enumerate(_STRING.split(line)))


_DIVISION = " / "
_MAY_HOLD_SPACES = frozenset("'/")


def _compact_style(style: str) -> str:
    return _AROUND_CSS_SIGNS.sub(lambda m: m[1] or "", _CSS_COMMENT.sub("", style)).strip().replace(";}", "}")


def write_directory(directory: Path, recorded: Recorded) -> Path:
    """Write `index.html` and `data/`; returns the path of the page."""
    data = directory / DATA
    _remove_chunks(data)
    is_new = not directory.exists()
    data.mkdir(parents=True)
    page = directory / PAGE
    try:
        for name, text in recorded.chunks.items():
            with replacing(data / f"{name}.js") as file:
                file.write(script(name, text).encode("ascii"))
        with replacing(page) as file:
            file.write(encoded(_page(recorded.overview, "", "'self' file:")))
    except BaseException:
        shutil.rmtree(directory if is_new else data, ignore_errors=True)  # the error is that of the write
        raise
    return page


def _remove_chunks(data: Path) -> None:
    """Remove the chunks of an earlier report.  Anything else in their directory is an error."""
    if not data.is_dir():
        return
    if data.is_symlink():
        raise DecodeError(f"{data}: is a symbolic link; a report needs a directory there")
    foreign = sorted(path.name for path in data.iterdir() if not _is_chunk(path))
    if foreign:
        raise DecodeError(f"{data}: holds {foreign[0]}, which is not of a report; give another directory (-o)")
    shutil.rmtree(data)


def _is_chunk(path: Path) -> bool:
    """Whether `script` has written a file, or the process was killed while it did."""
    if path.suffix == ".part" or not path.is_file():
        return path.is_file()
    with path.open("rb") as file:
        return file.read(len(CHUNK_START)) == CHUNK_START.encode()


def write_file(path: Path, recorded: Recorded, most_bytes: int) -> list[str]:
    """Write one file.  Full pictures are left out first, then thumbnails; returns what was left out."""
    chunks = dict(recorded.chunks)
    overview = dict(recorded.overview)
    left_out: list[str] = []
    for kind, noun in _EXPENDABLE:
        if _size(chunks, overview) <= most_bytes:
            break
        gone = [name for name in chunks if kind.match(name)]
        for name in gone:
            del chunks[name]
        if gone:
            left_out.append(f"{noun}, to stay below {most_bytes} bytes (--max-size)")
            overview["left_out"] = [*recorded.overview["left_out"], *left_out]
    if _size(chunks, overview) > most_bytes:
        raise DecodeError(f"{path}: without any picture the report still has {_size(chunks, overview)} bytes "
                          "(--max-size, --frames)")
    parts = "".join(f'<script type="text/plain" id="chunk-{name}">{text}</script>\n' for name, text in chunks.items())
    with replacing(path) as file:
        file.write(encoded(_page(overview, parts, "")))
    return left_out


def encoded(page: str) -> bytes:
    """Names of files may have bytes that are not UTF-8."""
    return page.encode("utf-8", "backslashreplace")


def _size(chunks: dict[str, str], overview: dict[str, Any]) -> int:
    return sum(len(name) + len(text) + 60 for name, text in chunks.items()) + len(encoded(_page(overview, "", "")))


def _page(overview: dict[str, Any], chunks: str, script_places: str) -> str:
    web = files("gen4emu.report") / "web"
    style = _compact_style((web / "report.css").read_text(encoding="utf-8"))
    template = (web / "report.html").read_text(encoding="utf-8")
    parts = {"SUMMARY": "\n".join(_summary(overview)), "CHUNKS": chunks, "OVERVIEW": single_page.data(overview)}
    return single_page.fill(template, parts, style=style, script=code("comparison" in overview), images="blob: data:",
                            scripts=script_places)


def _summary(overview: dict[str, Any]) -> Iterator[str]:
    """The report for browsers that forbid scripts."""
    yield f"<h1>{escape(overview['title'])}</h1>"
    if overview["band"]:
        yield f"<p><b>{escape(overview['band'])}</b></p>"
    if overview["device"] is not None:
        yield f"<p>{escape(overview['device']['marketing'])}</p>"
    counts = ", ".join(f"{count} {noun if count != 1 else noun[:-1]}" for noun, count in overview["counts"].items())
    yield f"<p>{counts}. Draws, state and pictures need scripts.</p>"
    if "comparison" in overview:
        yield from _comparison(overview["comparison"])
    if overview["findings"]:
        yield "<h2>Findings</h2><ul>"
        for finding in overview["findings"][:_SUMMARY_ROWS]:
            yield f"<li>{escape(finding['severity'])}: {escape(finding['text'])} ({finding['count']})</li>"
        yield "</ul>"
    yield "<h2>Frames</h2><table><tr><th>frame</th><th>draws</th><th>instructions</th><th>written</th></tr>"
    for frame in overview["frames"][:_SUMMARY_ROWS]:
        yield (f"<tr><td>{frame['number']}</td><td>{frame['draws']}</td><td>{frame['instructions']}</td>"
               f"<td>{frame['written']}</td></tr>")
    yield "</table>"


def _comparison(about: dict[str, Any]) -> Iterator[str]:
    yield f"<h2>{escape(about['names'][0])} against {escape(about['names'][1])}</h2>"
    marks = ", ".join(f"{count} {mark}" for mark, count in about["marks"].items())
    yield f"<p>{about['pairs']} pairs of draws: {marks}</p>"
    if about["finding"]:
        lines = "\n".join(about["finding"])
        yield f"<p>The first pixels that differ:</p><pre>{escape(lines)}</pre>"
