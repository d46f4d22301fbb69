"""The order of the layers, in C and in Python: no include, call or import goes up, and there are no circles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.native import layers
from tests.native.layers import Arrow

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"

# Lowest first.  Folders in one row do not need each other.  api/ has no code: its headers are the interface of units to
# Python.  models/ names the units of each generation, so it stands above them; units see core/model.h.  shim/ is a
# library of its own with an order of its own.
C_ORDER = [{"api"}, {"core"}, {"eu", "image"}, {"sampler", "color"}, {"functions"}, {"geometry"}, {"raster"},
           {"media", "blitter", "compute"}, {"draw"}, {"models"}, {"debugger"}, {"harness"}]
SHIM_ORDER = [{"uapi.h", "protocol.h"}, {"base"}, {"device"}, {"gem"}, {"submit"}, {"kms"}, {"driver.h"},
              {"ioctls.h"}, {"ioctls.c", "driver.c"}, {"hooks"}]
PYTHON_ORDER = [{"_native", "children", "core_enums", "deferred", "errors", "ownership", "__init__"},
                {"selection", "single_page", "loopback", "sandbox", "limits"}, {"hw"}, {"isa"}, {"trace"},
                {"device"}, {"image"}, {"live", "decode"}, {"debugger"}, {"api", "check"}, {"suite", "bisect"},
                {"cluster", "repro"}, {"report", "selftest"}, {"debugger_web", "live_web"},
                {"cli", "pytest_plugin"}, {"__main__"}]

# Files that include a generated header.  The others reach it through the headers named here.
GENERATED = {
    "enums.h": {"api/status.h"},
    "chips.h": {"models/gen4.c", "models/gen7.c", "models/gen9.c"},
    "hw_enums.h": {"core/context.h", "core/memory.c"},
    "hw_formats.h": {"core/surface.h", "color/convert.h", "color/early.c", "geometry/fetch.h"},
    "isa.h": {"eu/op.h"},
    "isa_gen7.h": {"eu/decode_gen7.c", "eu/math.c"},
    "isa_gen9.h": {"eu/decode.c", "eu/decode_gen9.c"},
    "mpeg2.h": {"media/vld.c"},
    "sampler_messages.h": {"sampler/message.h"},
}
# Layouts of commands, state blocks and registers: only loaders, which belong to a generation, include them.
STATE = re.compile(r"hw_state\.h|state_gen\d+\.h|hw_gen\d+\.h")
LOADER = re.compile(r"(core|draw|media|compute|sampler|blitter)/\w+_gen\d+\.c")
STATE_BESIDES = {"core/memory.c"}  # entries of the page table
# Layouts of messages and thread data.
MESSAGES = re.compile(r"hw_messages\.h|messages_gen\d+\.h")
THREAD_DATA = {"eu", "sampler", "color", "functions", "geometry", "raster", "media", "compute", "debugger",
               "harness"}

# Units that are cut into files which call each other.  No circle leaves its folder, and there are no others.
UNITS_OF_SEVERAL_FILES = [
    # Depth and stencil: to select a slice of the depth buffer is to select its hierarchical entries, which are drawn
    # and filled slice by slice.
    ["color/depth_gen6.c", "color/early.c", "color/hiz_buffer.c", "color/hiz_watch.c"],
    # The interpreter: a gang executes the handlers of a kernel, which make the gang jump, take exceptions and send.  A
    # kernel is decoded to handlers and translated; machine code leaves to handlers what it cannot do.  Counting runs a
    # gang, too.
    ["eu/counters.c", "eu/decode_gen4.c", "eu/exceptions.c", "eu/fast/dot_integer.c", "eu/fast/table.c", "eu/flow.c",
     "eu/flow_gen6.c", "eu/gang.c", "eu/general.c", "eu/halves.c", "eu/jit/code_memory.c", "eu/kernel.c",
     "eu/line_counts.c", "eu/registers.c", "eu/send.c", "eu/start_state.c"],
    ["eu/jit/blocks.c", "eu/jit/loops.c"],  # a loop consists of blocks, and a block may be a loop
    # Lowering: operands are rows of registers, and which rows an instruction has depends on how it is lowered.
    ["eu/jit/lower.c", "eu/jit/lower_double.c", "eu/jit/lower_math.c", "eu/jit/operands.c", "eu/jit/rows.c"],
    # The thread spawner: it starts threads, whose messages and ends are what it reacts to.
    ["media/spawner.c", "media/threads.c"],
]
# Arrows that go up for a reason: (source, target).
EXCEPTIONS = {
    ("draw/device.c", "models/models.c"),  # a device looks its model up, through core/model.h
}
KNOWN_CIRCLES = [
    ["gen4emu/hw/fields", "gen4emu/hw/layout"],  # a field of a layout may be an array of layouts
]


def ranks(order: list[set[str]]) -> dict[str, int]:
    return {name: rank for rank, row in enumerate(order) for name in row}


def upward(arrows: Iterable[Arrow], rank: Mapping[str, int], depth: int = 0) -> list[Arrow]:
    """Arrows to a higher layer or to another one of the same rank; the layer is the path's part number DEPTH."""
    found = []
    for arrow in arrows:
        source, target = arrow.source.split("/")[depth], arrow.target.split("/")[depth]
        if source != target and rank[target] >= rank[source]:
            found.append(arrow)
    return found


@pytest.fixture(scope="module")
def core() -> dict[str, str]:
    return layers.c_files(NATIVE, leave_out=("shim", "gl", "generated"))


def within(arrows: Iterable[Arrow], files: Mapping[str, str]) -> list[Arrow]:
    return [arrow for arrow in arrows if arrow.target in files]


def test_every_folder_of_the_core_has_a_rank(core: dict[str, str]) -> None:
    assert {name.split("/")[0] for name in core} == set(ranks(C_ORDER))


def test_includes_and_calls_of_the_core_do_not_go_up(core: dict[str, str]) -> None:
    arrows = [*within(layers.includes(core), core), *layers.calls(core)]
    assert len(arrows) > 500, "the sources are read"
    found = upward(arrows, ranks(C_ORDER))
    assert [arrow for arrow in found if (arrow.source, arrow.target) not in EXCEPTIONS] == []


def test_headers_of_the_core_have_no_circles(core: dict[str, str]) -> None:
    assert layers.circles(a for a in within(layers.includes(core), core) if a.source.endswith(".h")) == []


def test_files_of_the_core_have_no_circles_but_known_ones(core: dict[str, str]) -> None:
    arrows = [*within(layers.includes(core), core), *layers.calls(core)]
    assert layers.circles(arrows) == UNITS_OF_SEVERAL_FILES
    assert all(len({name.split("/")[0] for name in unit}) == 1 for unit in UNITS_OF_SEVERAL_FILES)


def test_tags_of_the_core_are_unique(core: dict[str, str]) -> None:
    counts = Counter(tag for text in core.values()
                     for tag in re.findall(r"^(?:struct|union|enum) (\w+) \{", layers.code(text), re.MULTILINE))
    assert len(counts) > 300, "the sources are read"
    assert [tag for tag, count in counts.items() if count > 1] == []


def test_only_the_debugger_includes_its_header(core: dict[str, str]) -> None:
    assert [a for a in layers.includes(core) if a.target.startswith("debugger/")
            and not a.source.startswith("debugger/")] == []


def test_generated_layouts_are_included_only_where_allowed(core: dict[str, str]) -> None:
    found: dict[str, set[str]] = {}
    for arrow in layers.includes(core):
        if arrow.target not in core:
            found.setdefault(arrow.target, set()).add(arrow.source)
    layouts = [name for name in found if STATE.fullmatch(name) or MESSAGES.fullmatch(name)]
    assert {name: files for name, files in found.items() if name not in layouts} == GENERATED


def outside_of_loaders(arrows: Iterable[Arrow]) -> list[Arrow]:
    """Includes of the layouts of commands and state by other files than loaders; headers are never loaders."""
    return [arrow for arrow in arrows if STATE.fullmatch(arrow.target) and not LOADER.fullmatch(arrow.source)
            and arrow.source not in STATE_BESIDES]


def test_only_loaders_see_commands_and_state(core: dict[str, str]) -> None:
    arrows = [*layers.includes(core)]
    assert sum(bool(STATE.fullmatch(arrow.target)) for arrow in arrows) >= 5, "the loaders include them"
    assert outside_of_loaders(arrows) == []


def test_only_units_see_messages_and_thread_data(core: dict[str, str]) -> None:
    folders = {a.source.split("/")[0] for a in layers.includes(core) if MESSAGES.fullmatch(a.target)}
    assert "sampler" in folders
    assert folders <= THREAD_DATA


def test_only_models_and_loaders_name_generations(core: dict[str, str]) -> None:
    named = {name for name, text in core.items() if re.search(r"\bG4_GEN_(?!ALL4)[A-Z]", layers.code(text))}
    assert "models/gen4.c" in named
    assert [name for name in sorted(named) if not re.search(r"^models/|_gen\d+\.c$", name)] == [], "make it a quirk"


def test_only_the_loader_unpacks_state_commands(core: dict[str, str]) -> None:
    found = {name for name, text in core.items() if re.search(r"\bg4_3d\w+_unpack\(", text)}
    loaders = {name for name in found if name.startswith("draw/load_")}
    assert loaders
    assert found == loaders


# A shift or mask by a constant of a message, its payload, a command, or the first, control or state registers of a
# thread.
BITS = re.compile(r"\b(descriptor|(header|[cs]r0)(\[\w+\])+|(command|words|r0|r1)\[\w+\]|g4_payload\([^;]*?\)\[\d\]"
                  r"|\w+_message_control\([^;]*\))"
                  r"\s*(>>\s*\d|&\s*~?(0x)?\d)")
NO_FIELDS = {"sampler/message.c", "sampler/texture.c", "core/texel_rows.c"}  # a hash of descriptors; texels


def test_the_core_has_no_bit_positions_of_messages_and_commands(core: dict[str, str]) -> None:
    found = {name: [m[0] for m in BITS.finditer(layers.code(text))] for name, text in core.items()
             if name not in NO_FIELDS}
    assert {name: places for name, places in found.items() if places} == {}, "name the field in gen4emu/hw"


# A shift or mask of a word in Python, unless it truncates to 32 bits.  Readers of traces unpack file formats.
PYTHON_BITS = re.compile(r"\b(words?|header|dw|command|descriptor)(\[\w+\])?\)?\s*(>>|&)\s*~?"
                         r"(0x)?\d(?!xFFFF_?FFFF\b)")
PYTHON_FIELDS = {"hw", "isa", "image", "trace"}


def test_python_has_no_bit_positions_of_messages_and_commands() -> None:
    package = ROOT / "gen4emu"
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in PYTHON_FIELDS]
    assert len(files) > 200, "the sources are read"
    found = {path.name: [m[0] for m in PYTHON_BITS.finditer(path.read_text(encoding="utf-8"))] for path in files}
    assert {name: places for name, places in found.items() if places} == {}, "name the field in gen4emu/hw"


def test_includes_of_the_shim_do_not_go_up() -> None:
    files = layers.c_files(NATIVE / "shim")
    own = {name: name for name in files}
    arrows = [Arrow(a.source, a.target.removeprefix("shim/"), a.reason) for a in layers.includes(files)]
    inside = [a for a in arrows if a.target in own]
    assert len(inside) > 50
    assert upward(inside, ranks(SHIM_ORDER)) == []
    others = {a.target.split("/")[0] for a in arrows if a.target not in own}
    assert others <= {"api", "core"}, "of the core, the shim has the copying of tiles"


def test_every_module_has_a_rank() -> None:
    modules = {path.stem for path in (ROOT / "gen4emu").glob("*.py")}
    packages = {path.parent.name for path in (ROOT / "gen4emu").glob("*/__init__.py")}
    assert modules | packages <= set(ranks(PYTHON_ORDER))


def imports() -> list[Arrow]:
    """Between modules, by path without the ending; the package itself is `gen4emu/__init__`."""
    found = []
    for arrow in layers.python_imports(ROOT, "gen4emu"):
        source = arrow.source.removesuffix(".py")
        target = "gen4emu/__init__" if arrow.target == "gen4emu" else arrow.target
        found.append(Arrow(source, target, arrow.reason))
    return found


def test_imports_do_not_go_up() -> None:
    # the package offers the API by names that are looked up when they are used
    arrows = [arrow for arrow in imports() if arrow.source != "gen4emu/__init__"]
    assert len(arrows) > 500
    assert upward(arrows, ranks(PYTHON_ORDER), depth=1) == []


def test_modules_have_no_circles_but_known_ones() -> None:
    arrows = [arrow for arrow in imports() if not arrow.source.endswith("/__init__")]
    assert layers.circles(arrows) == KNOWN_CIRCLES


def test_tests_do_not_import_from_each_other() -> None:
    """Code that several tests use is in a module of its own, most of it in tests/harness."""
    arrows = list(layers.python_imports(ROOT, "tests"))
    assert len(arrows) > 200
    found = [arrow for arrow in arrows if "/test_" in arrow.target and arrow.target != arrow.source.removesuffix(".py")]
    assert found == []
    relative = [path for path in (ROOT / "tests").rglob("*.py")
                if re.search(r"^\s*from \.+(\w+\.)*test_", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert relative == []


# ---- the test itself ----

@pytest.mark.parametrize("code", ["switch (words[0] >> 16) {", "header[PIXEL_MASK] & 0xffff", "descriptor >> 8 & 7",
                                  "gen7_data_cache_message_control(m->descriptor) & 1", "header[1][7] >> 27",
                                  "gang->sr0[t] >> 8", "cr0[t][0] & 1",
                                  "g4_payload(gang, send, 0, thread)[5] >> 31 ? 4 : 0"])
def test_a_bit_position_is_found(code: str) -> None:
    assert BITS.search(code)


@pytest.mark.parametrize(("code", "found"), [
    ("int(raw.descriptor) & 0xFF", True), ("words[0] >> 14 & 3", True), ("header & 31", True),
    ("word & 0xFFFFFFFF", False), ("header & mask", False)])
def test_a_bit_position_in_python_is_found(code: str, found: bool) -> None:
    assert bool(PYTHON_BITS.search(code)) == found


LOW = '#include "low.h"\nint g4_low(void) {\n    return 1;\n}\n'
HIGH = '#include "core/low.h"\nint g4_high(void) {\n    return g4_low();\n}\n'


def tree(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return layers.c_files(folder)


def test_a_call_upwards_is_found(tmp_path: Path) -> None:
    rank = ranks([{"core"}, {"draw"}])
    good = tree(tmp_path / "good", {"core/low.c": LOW, "core/low.h": "int g4_low(void);\n", "draw/high.c": HIGH})
    assert upward([*within(layers.includes(good), good), *layers.calls(good)], rank) == []

    calling = LOW.replace("return 1", "extern int g4_high(void);\n    return g4_high()")
    bad = tree(tmp_path / "bad", {"core/low.c": calling, "core/low.h": "int g4_low(void);\n", "draw/high.c": HIGH})
    assert upward(layers.calls(bad), rank) == [Arrow("core/low.c", "draw/high.c", "g4_high")]


def test_a_variable_upwards_is_found_and_a_comment_is_not(tmp_path: Path) -> None:
    files = tree(tmp_path, {"core/low.c": "int g4_low(void) {\n    return g4_table[0]; /* not g4_other */\n}\n",
                            "draw/high.c": "const int g4_table[2] = {\n    1,\n};\nint g4_other(void) {\n}\n"})
    assert list(layers.calls(files)) == [Arrow("core/low.c", "draw/high.c", "g4_table")]


def test_a_circle_of_calls_is_found_and_a_tag_is_no_call(tmp_path: Path) -> None:
    files = {"eu/a.c": "int g4_a(void) {\n    return g4_b();\n}\n",
             "eu/b.c": "int g4_b(void) {\n    return g4_a();\n}\n",
             "eu/c.c": "int g4_c(void) {\n    return g4_d();\n}\n",
             "eu/d.c": "int g4_d(void) {\n    return sizeof(struct g4_c);\n}\n"}
    assert layers.circles(layers.calls(tree(tmp_path, files))) == [["eu/a.c", "eu/b.c"]]


def test_an_include_upwards_and_a_circle_are_found(tmp_path: Path) -> None:
    files = tree(tmp_path, {"core/a.h": '#include "draw/b.h"\n', "draw/b.h": '#include "core/a.h"\n'})
    assert upward(layers.includes(files), ranks([{"core"}, {"draw"}])) == [Arrow("core/a.h", "draw/b.h", "draw/b.h")]
    assert layers.circles(layers.includes(files)) == [["core/a.h", "draw/b.h"]]


@pytest.mark.parametrize("header", ["hw_state.h", "state_gen7.h", "hw_gen6.h"])
def test_a_unit_or_header_that_includes_commands_is_found(header: str, tmp_path: Path) -> None:
    text = f'#include "{header}"\n'
    files = tree(tmp_path, {"draw/load_gen7.c": text, "core/surface.h": text, "raster/fill.c": text,
                            "geometry/clip_gen6.c": text})
    assert [a.source for a in outside_of_loaders(layers.includes(files))] == [
        "core/surface.h", "geometry/clip_gen6.c", "raster/fill.c"]


def test_an_import_upwards_is_found(tmp_path: Path) -> None:
    package = tmp_path / "gen4emu"
    (package / "hw").mkdir(parents=True)
    (package / "cli").mkdir()
    (package / "hw" / "fields.py").write_text("def late():\n    from gen4emu.cli import main\n", encoding="utf-8")
    (package / "cli" / "main.py").write_text("import gen4emu.hw.fields\n", encoding="utf-8")
    assert upward(layers.python_imports(tmp_path, "gen4emu"), ranks([{"hw"}, {"cli"}]), depth=1) == [
        Arrow("gen4emu/hw/fields.py", "gen4emu/cli/main", "gen4emu.cli.main")]
