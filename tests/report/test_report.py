"""The files of `gen4emu report`: complete, deterministic, and safe with hostile names."""

from __future__ import annotations

import base64
import json
import lzma
import re
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.report import record, writer
from gen4emu.report.chunks import by_columns
from gen4emu.report.chunks import packed as packed_chunk
from gen4emu.report.decoded import decoded
from gen4emu.report.maps import MAPS_BYTES
from gen4emu.report.pictures import PICTURE_BYTES, encoded
from gen4emu.report.record import Choices, Recorded, Recorder
from gen4emu.report.surfaces import DUMP_BYTES, IMAGE_BYTES
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace
from tests.decode.gl_capture import GLSL, noted
from tests.decode.gl_capture import HOSTILE as GL_HOSTILE
from tests.harness.joined import join
from tests.report.page_data import chunk, counters, overview, row_of

TRACES = Path(__file__).parents[2] / "traces"
GEARS = TRACES / "gears-g4x.aub.xz"
HOSTILE = "<img src=x onerror=document.title='owned'>&<!--.aub.xz"


@pytest.fixture(autouse=True)
def _in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """write(trace, option, ..., status=0) makes a report; returns its directory."""
    def made(trace: Path, *arguments: str, status: int = 0) -> Path:
        assert run(["-q", "report", str(trace), "-o", "report", *arguments]) == status
        return tmp_path / "report"

    return made


def test_rows_are_the_counters_of_the_api(write: Write) -> None:
    rows = chunk(write(GEARS), "rows-0")
    with gen4emu.open(GEARS) as trace:
        draws = [(d.number, d.topology, d.vertex_count, d.counters.fragments.written, d.counters.instructions)
                 for d in trace.draws(counting=True)]
    assert len(draws) > 3
    found = list(zip(range(len(draws)), rows["topology"], rows["vertices"], rows["written"], rows["instructions"],
                     strict=True))
    assert found == draws


def test_kaby_lake_has_topologies_of_its_own_command_and_surfaces_at_high_addresses(write: Write) -> None:
    report = write(TRACES / "later" / "triangle-kbl.aub.xz")
    rows = chunk(report, "rows-0")
    assert "TRILIST" in rows["topology"] and "RECTLIST" in rows["topology"] and "" not in rows["topology"]
    high = [s for s in chunk(report, "surfaces") if s["address"] >= 1 << 32]
    assert any(surface["images"] for surface in high) and any(surface["bytes"] for surface in high)


def test_a_draw_has_the_state_in_force(write: Write) -> None:
    states = chunk(write(GEARS), "states-0")
    with gen4emu.open(GEARS) as trace:
        (pointers,) = trace.state(3).blocks("WM_STATE")
        threads = str(pointers.body.view.maximum_number_of_threads)
    blocks = {block["title"]: block for i in states["draws"][3] for block in [row_of(states["blocks"], i)]}
    texts = states["fields"][blocks["WM_STATE"]["fields"]]
    assert dict(zip(texts[::2], texts[1::2], strict=True))["maximum_number_of_threads"] == threads
    assert blocks["WM_STATE"]["box"] == "wm" and "3DSTATE_PIPELINED_POINTERS" in blocks["WM_STATE"]["by"]


def test_changed_blocks_are_named(write: Write) -> None:
    rows = chunk(write(GEARS), "rows-0")
    assert "CONSTANT_BUFFER" in rows["changed"][3]
    assert "URB_FENCE" not in rows["changed"][3]
    assert rows["changes"][3] == len(rows["changed"][3])


def test_lines_of_a_kernel_have_their_live_registers(write: Write) -> None:
    kernels = chunk(write(GEARS), "kernels")
    unknown = [kernel for kernel in kernels if not kernel["live_known"]]
    assert [kernel["stages"] for kernel in unknown] == [["clip"], ["clip"]]  # they write ip, and read through a0
    assert all(line["live"] is None for kernel in unknown for line in kernel["lines"])
    pixel = next(kernel for kernel in kernels if kernel["number"] == 10)
    live = [line["live"] for line in pixel["lines"]]
    assert (len(live), min(live), max(live)) == (25, 1, 10)


def test_executions_of_the_lines_of_a_kernel_are_its_cost(write: Write) -> None:
    for kernel in chunk(write(GEARS), "kernels"):
        lines = kernel["lines"]
        if kernel["draw_count"]:
            assert sum(line["executions"] for line in lines) == kernel["cost"] > 0
            assert all(0 <= line["channels"] <= 16 * line["executions"] for line in lines)
        else:
            assert {line["executions"] for line in lines} == {None}


def test_kernels_of_one_stage_have_the_cost_of_their_own_executions(write: Write) -> None:
    kernels = chunk(write(TRACES / "later" / "triangle-ivb.aub.xz"), "kernels")
    executed = {kernel["number"]: sum(line["executions"] or 0 for line in kernel["lines"]) for kernel in kernels}
    assert {kernel["number"]: kernel["cost"] for kernel in kernels} == executed
    assert {kernel["number"] for kernel in kernels if kernel["draw_count"]} == {n for n, ran in executed.items() if ran}
    assert {kernel["stages"][0] for kernel in kernels if kernel["cost"]} == {"vs", "ps simd8", "ps simd16"}


@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_a_draw_names_the_costliest_kernel_of_a_stage(device: str, write: Write) -> None:
    """The last draw has a kernel for eight pixels a thread, which runs little or not at all, and one for sixteen."""
    report = write(TRACES / "later" / f"triangle-{device}.aub.xz")
    kernels, rows = chunk(report, "kernels"), chunk(report, "rows-0")
    named = [next(kernel for kernel in kernels if kernel["number"] == number) for number in rows["ps"] if number]
    assert named and all(kernel["draw_count"] for kernel in named)
    assert named[-1]["stages"] == ["ps simd16"]


def test_kernels_have_their_sources_as_far_as_they_fit(write: Write, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    trace = noted(TRACES / "triangle-g4x.aub.xz", tmp_path / "a.g4c")
    (found,) = [kernel for kernel in chunk(write(trace), "kernels") if "sources" in kernel]
    assert (found["stages"], found["origin"]) == (["ps"], f'program 3 "{GL_HOSTILE}", fragment shader 2')
    assert [source["title"] for source in found["sources"]] == ["GLSL, fragment shader 2", "NIR, SSA form",
                                                                "NIR, final form", "driver's assembly"]
    assert found["sources"][0]["text"] == GLSL and found["sources"][3]["text"] == "SIMD8 shader.\nnop;\n"
    monkeypatch.setattr(record, "MOST_SOURCES", sum(len(source["text"]) for source in found["sources"]) - 1)
    (found,) = [kernel for kernel in chunk(write(trace), "kernels") if "sources" in kernel]
    assert found["sources"] is None


def test_kernels_have_their_draws_and_their_cost(write: Write) -> None:
    report = write(GEARS)
    rows, kernels = chunk(report, "rows-0"), {kernel["number"]: kernel for kernel in chunk(report, "kernels")}
    shaders = [n for n in rows["vs"] if n]
    used = kernels[max(set(shaders), key=shaders.count)]
    assert used["draw_count"] == len([n for n in rows["vs"] if n == used["number"]]) and used["cost"] > 0
    assert used["lines"][0]["offset"] == 0 and used["lines"][0]["text"]


def test_kernels_of_media_objects_have_their_draws_and_their_cost(write: Write) -> None:
    kernels = chunk(write(TRACES / "mpeg2-g4x.aub.xz"), "kernels")
    executed = {kernel["number"]: sum(line["executions"] or 0 for line in kernel["lines"]) for kernel in kernels}
    assert {kernel["number"]: kernel["cost"] for kernel in kernels} == executed
    assert kernels[0]["stages"] == ["media 0"] and kernels[0]["cost"] > 0
    assert (kernels[0]["draws"], kernels[0]["draw_count"]) == ([[0, 29]], 30)


def test_surfaces_name_writers_and_readers(write: Write) -> None:
    report = write(TRACES / "fbo-g4x.aub.xz")
    rows = chunk(report, "rows-0")
    both = [s for s in chunk(report, "surfaces") if "render target" in s["kind"] and "texture" in s["kind"]]
    assert both, "the program draws to a texture and reads it"
    for surface in both:
        assert surface["writers"] == [i for i, w in enumerate(rows["writes"]) if surface["address"] in w]
        assert surface["readers"] == [i for i, r in enumerate(rows["reads"]) if surface["address"] in r]
        assert surface["first_written"] == surface["writers"][0] < surface["readers"][-1]


def packed(report: Path, name: str) -> tuple[Any, bytes]:
    text = (report / "data" / f"{name}.js").read_text()
    found = re.fullmatch(r'gen4emuChunk\("[\w-]+","([\w+/=]+)"\);\n', text)
    assert found is not None
    data = zlib.decompress(base64.b64decode(found[1]))
    size = int.from_bytes(data[:4], "little")
    return json.loads(data[4:4 + size]), data[4 + size:]


def test_all_faces_of_a_cube_are_there_and_the_bytes_of_each_surface(write: Write) -> None:
    trace = TRACES / "cubemap-g4x.aub.xz"
    report = write(trace)
    (cube,) = [s for s in chunk(report, "surfaces") if s["kind"] == "texture"]
    assert [(image["level"], image["slice"], image["sample"]) for image in cube["images"]] == [
        (0, face, 0) for face in range(6)]
    assert len({packed(report, image["picture"])[1] for image in cube["images"]}) == 6
    with gen4emu.open(trace) as opened:
        draw = opened.at(draw=3)
        for surface in chunk(report, "surfaces"):
            head, data = packed(report, surface["bytes"])
            assert head["address"] == surface["address"] and 4096 <= len(data) <= head["bytes"]
            if "render target" not in surface["kind"]:  # the end of the trace is after the last draw
                assert data == draw.read(surface["address"], len(data))


def test_the_same_trace_gives_the_same_bytes(write: Write, tmp_path: Path) -> None:
    def digests() -> dict[str, str]:
        report = write(TRACES / "cubemap-g4x.aub.xz")
        return {path.name: sha256(path.read_bytes()).hexdigest() for path in report.rglob("*") if path.is_file()}

    first = digests()
    assert len(first) > 5
    assert digests() == first


def test_the_page_allows_no_script_but_its_own(write: Write, tmp_path: Path) -> None:
    trace = tmp_path / HOSTILE
    trace.write_bytes(GEARS.read_bytes())
    text = (write(trace) / "index.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and policy[1].startswith("default-src 'none'")
    (main,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    digest = base64.b64encode(sha256(main.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy[1] and "unsafe" not in policy[1]
    assert "<img" not in text.partition("<script")[0] and "<!--" not in text
    assert text.count("</script>") == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text


@pytest.mark.parametrize("compares", [False, True])
def test_modules_are_in_order_and_share_no_name(compares: bool) -> None:
    web = Path(writer.__file__).parent / "web"
    modules = (*writer.MODULES, *(writer._COMPARISON if compares else writer._START))
    names: list[str] = []
    for i, module in enumerate(modules):
        text = (web / f"{module}.js").read_text()
        needed = re.findall(r'^import .*? from "\./(\w+)\.js";$', text, re.MULTILINE)
        assert set(needed) <= set(modules[:i]), f"{module} comes too early"
        names += re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names)), "the page joins the modules to one"
    code = writer.code(compares)
    assert "import " not in code.partition("\n")[0] and not re.search(r"^(im|ex)port ", code, re.MULTILINE)


def test_all_modules_are_used_and_are_not_many_lines() -> None:
    web = Path(writer.__file__).parent / "web"
    used = {*writer.MODULES, *writer._START, *writer._COMPARISON}
    assert {f"{name}.js" for name in used} == {path.name for path in web.glob("*.js")}
    assert sum(len(path.read_text().splitlines()) for path in web.iterdir()) <= 2650


def test_files_that_are_not_of_a_report_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, place = str(TRACES / "clear-g4x.aub.xz"), tmp_path / "report"
    for _ in range(2):  # the second report replaces the first one
        assert run(["-q", "report", trace, "-o", str(place)]) == 0
    capsys.readouterr()
    for name in ("my.csv", "my.js"):
        (place / "data" / name).write_text("1,2\n")
        before = sorted(place.rglob("*"))
        assert run(["report", trace, "-o", str(place)]) == 2
        assert f"{place / 'data'}: holds {name}, which is not of a report" in capsys.readouterr().err
        assert sorted(place.rglob("*")) == before
        (place / "data" / name).unlink()
    (place / "data").rename(tmp_path / "elsewhere")
    (place / "data").symlink_to(tmp_path / "elsewhere")
    assert run(["report", trace, "-o", str(place)]) == 2
    assert f"{place / 'data'}: is a symbolic link" in capsys.readouterr().err


def test_a_cut_trace_gives_a_report_up_to_there(write: Write, tmp_path: Path) -> None:
    whole = lzma.decompress((TRACES / "gears-4frames-g4x.aub.xz").read_bytes())
    cut = tmp_path / "cut.aub"
    cut.write_bytes(whole[:len(whole) - 50])
    report = write(cut, status=2)
    assert "damaged" in overview(report)["band"]
    assert "damaged" in re.search(r"<noscript>(.*?)</noscript>", (report / "index.html").read_text(), re.S)[1]
    assert write(cut, "--partial") == report


def test_frames_and_full_pictures_can_be_chosen(write: Write) -> None:
    report = write(GEARS, "--draws-full", "2-3")
    draws = counters(report)
    assert [i for i, draw in enumerate(draws) if draw["pictures"]] == [2, 3]
    assert draws[2]["pictures"][0]["before"], "the draw before it is known"
    assert "full-size pictures" in overview(report)["left_out"][0]


def test_tables_are_stored_by_columns() -> None:
    rows = [{"a": {"b": i, "c": None}, "d": [i], "e": {}, "f": {"x": 1} if i else None} for i in range(3)]
    columns = by_columns(rows)
    assert columns == {"a": {"b": [0, 1, 2], "c": [None] * 3}, "d": [[0], [1], [2]], "e": [{}] * 3,
                       "f": [None, {"x": 1}, {"x": 1}]}
    assert [row_of(columns, i) for i in range(3)] == rows


def test_rows_of_a_picture_are_differences() -> None:
    """A gradient, which deflate does not find by itself."""
    gradient = np.broadcast_to(np.arange(256, dtype=np.uint8)[:, np.newaxis, np.newaxis] * 3, (256, 256, 4)).copy()
    gradient += np.random.default_rng(1).integers(0, 256, (1, 256, 4), np.uint8)
    assert len(encoded(gradient, None, "gradient")) < 10_000 < len(packed_chunk({}, gradient.tobytes()))


@pytest.mark.parametrize("pixels", [np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
                                    np.array([[1], [65535]], np.uint16)])
def test_a_picture_that_does_not_change_has_no_pixels(pixels: np.ndarray[Any, Any]) -> None:
    text = zlib.decompress(base64.b64decode(encoded(pixels, ("picture-0", pixels), "equal")))
    assert json.loads(text[4:])["h"] == 0


def test_a_long_trace_cannot_make_a_report_too_large() -> None:
    """Thumbnails, state and meshes of 10,000 draws take about 7 MB."""
    assert PICTURE_BYTES + MAPS_BYTES + IMAGE_BYTES + DUMP_BYTES < 17_000_000


def test_what_follows_the_last_frame_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take a large part of the time of a long trace."""
    counts: list[int] = []

    def counting(*arguments: Any) -> Any:
        found = decoded(*arguments)
        counts.append(max(last for use in found.kernels for _, last in use.draws))
        return found

    monkeypatch.setattr(record, "decoded", counting)
    trace = join(tmp_path / "app.g4c", "fbo-g4x", "gears-g4x", "texture-g4x")
    rows = []
    for frames in ("1", "1-"):
        with open_trace(trace, again=True) as opened:
            chunks = Recorder(opened, None, "x", Choices(frames=Selection.parse(frames))).record().chunks
        rows.append(json.loads(zlib.decompress(base64.b64decode(chunks["rows-0"]))))
    assert counts == [one["draw"][-1] for one in rows]
    draws = len(rows[0]["draw"])
    assert draws == 6 < len(rows[1]["draw"])
    assert {name: column[:draws] for name, column in rows[1].items()} == rows[0]


@pytest.fixture
def long(tmp_path: Path) -> str:
    """A trace of five frames, of which two use the kernels of two others."""
    return join(tmp_path / "app.g4c", "triangle-g4x", "sprites-g4x", "stencil-g4x", "sprites-g4x", "triangle-g4x")


def recorded(trace: str, frames: str | None = None, **chosen: Any) -> dict[str, Any]:
    selection = None if frames is None else Selection.parse(frames)
    with open_trace(trace, again=True) as opened:
        chunks = Recorder(opened, None, "x", Choices(frames=selection, **chosen)).record().chunks
    return {name: json.loads(zlib.decompress(base64.b64decode(chunks[name]))) for name in ("rows-0", "kernels")}


@pytest.mark.parametrize("frames", ["0", "3", "1-2", "0,3-"])
def test_only_the_frames_that_are_shown_are_counted(frames: str, long: str) -> None:
    whole, shown = recorded(long)["rows-0"], recorded(long, frames)
    rows = [i for i, frame in enumerate(whole["frame"]) if frame in Selection.parse(frames)]
    for name in whole.keys() - {"thumb", "changes", "changed"}:  # those depend on the draws shown before
        assert shown["rows-0"][name] == [whole[name][i] for i in rows], name
    executions = [line["executions"] or 0 for kernel in shown["kernels"] for line in kernel["lines"]]
    assert sum(executions) == sum(shown["rows-0"]["instructions"]) > 0


def test_unknown_frames_are_an_error() -> None:
    assert run(["-q", "report", str(GEARS), "-o", "report", "--frames", "7"]) == 2


def test_one_file_stays_below_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "cubemap-g4x.aub.xz")
    assert run(["-q", "report", trace, "--single-file", "whole.html"]) == 0
    whole = (tmp_path / "whole.html").stat().st_size
    capsys.readouterr()
    assert run(["-q", "report", trace, "--single-file", "small.html", "--max-size", "144k"]) == 0
    small = (tmp_path / "small.html").stat().st_size
    assert small <= 144 << 10 < whole
    assert "left out full-size pictures" in capsys.readouterr().err
    assert run(["-q", "report", trace, "--single-file", "tiny.html", "--max-size", "10k"]) == 2
    assert not (tmp_path / "tiny.html").exists()


def test_json_is_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "report", str(GEARS), "-o", "report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gen4emu.report/1" and found["status"] == 0
    assert found["device"]["name"] == "gm45" and found["counts"]["draws"] > 3
    assert ["TRILIST", 3] in next(one["used"] for one in found["features"] if one["group"] == "topologies")


def test_an_empty_report_is_a_page(tmp_path: Path) -> None:
    (tmp_path / "empty.aub").write_bytes(lzma.decompress((TRACES / "clear-g4x.aub.xz").read_bytes())[:64])
    assert run(["-q", "report", "empty.aub", "-o", "report", "-d", "g45"]) == 2


def test_pictures_are_dropped_before_thumbnails(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"title": "t", "band": "", "device": None, "counts": {}, "findings": [], "frames": [],
                             "left_out": []}
    chunks = {"rows-0": "A", "picture-0": "B" * 300_000, "thumbs-0": "C" * 300_000}
    recorded = Recorded(empty, chunks, 0, [], None)
    (left_out,) = writer.write_file(tmp_path / "one.html", recorded, 500_000)
    text = (tmp_path / "one.html").read_text()
    assert "full-size pictures" in left_out and "BBB" not in text and "CCC" in text


def test_media_objects_have_the_picture_of_their_group(write: Write) -> None:
    report = write(TRACES / "mpeg2-g4x.aub.xz")
    rows, counters = chunk(report, "rows-0"), chunk(report, "states-0")["counters"]
    drawn = [i for i, thumbnail in enumerate(rows["thumb"]) if thumbnail >= 0]
    assert drawn and all(row_of(counters, i)["pictures"] and rows["name"][i] == "MEDIA_OBJECT" for i in drawn)
    assert {rows["frame"][i] for i in drawn} == set(rows["frame"]), "the last object of each frame shows it"


def test_a_device_that_does_not_execute_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "report", str(TRACES / "later" / "triangle-bdw.aub.xz"), "-o", "report"]) == 2
    assert "cannot execute yet" in capsys.readouterr().err and not Path("report").exists()
