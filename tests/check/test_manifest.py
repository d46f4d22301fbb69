"""Manifests: keys, mistakes, digests written in place."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from gen4emu.check.execute import Task, run_case
from gen4emu.check.manifest import read_manifest, unknown_names
from gen4emu.check.selecting import name_expression, parse_expression
from gen4emu.check.update import with_digests
from gen4emu.errors import DecodeError, SelectionError

DIGEST, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2


def manifest(directory: Path, text: str) -> Path:
    path = directory / "manifest.toml"
    path.write_text(text)
    return path


def test_all_keys_are_read(tmp_path: Path) -> None:
    found = read_manifest(manifest(tmp_path, f"""
timeout = 20

[[trace]]
file = "a.bin"
name = "raw one"
raw = true
base = 0x10000
device = "g45"
partial = true
expect = "{DIGEST}"

[[trace.accept]]
expect = "{OTHER}"
reason = "another order of equal depths"
device = "g965"

[[trace]]
file = "b.aub.xz"
tolerance = 2
timeout = 5.5
"""))
    one, two = found.cases
    assert (one.name, one.is_raw, one.base, one.allows_damage, one.timeout) == ("raw one", True, 0x10000, True, 20.0)
    assert one.device is not None and one.device.name == "g45" and one.digests == DIGEST
    assert one.accepted[0].digests == OTHER and one.accepted[0].reason == "another order of equal depths"
    assert (two.name, two.golden, two.tolerance, two.timeout) == ("b", tmp_path / "golden/b", 2.0, 5.5)


@pytest.mark.parametrize(("text", "words"), [
    ("", "has no [[trace]] table"),
    ("trace = 3", "has no [[trace]] table"),
    ('[[trace]]\nfile = "a"\n[[trace]]\nfile = "a"', "trace 1: another trace is called 'a'; give one a name"),
    ('[[trace]]\nfile = 3', "trace 0: has no file"),
    ('[[trace]]\nfile = "a"\ncolour = 3', "trace 0 (a): unknown key colour (known: "),
    ('[[trace]]\nfile = "a"\nname = "../x"', "invalid name '../x'"),
    ('[[trace]]\nfile = "a"\ntolerance = nan', "tolerance is not a number of at least 0"),
    (f'[[trace]]\nfile = "a"\ntolerance = 1{"0" * 400}', "tolerance is not a number of at least 0, and at most 1e+09"),
    (f'[[trace]]\nfile = "a"\ntolerance = 1{"0" * 5000}', "manifest.toml: not a manifest: "),
    ('[[trace]]\nfile = "a"\ntimeout = 0', "timeout is not a number of seconds above 0"),
    ('[[trace]]\nfile = "a"\nexpect = "12"', "'12' is not a digest of 32 hexadecimal digits"),
    (f'[[trace]]\nfile = "a"\nexpect = {{ "f.png" = "{DIGEST}" }}', "pictures are named without .png"),
    (f'[[trace]]\nfile = "a"\nexpect = "{DIGEST}"\ntolerance = 1', "a tolerance needs golden pictures"),
    ('[[trace]]\nfile = "a"\n[[trace.accept]]\ngolden = "g"', "accept: needs a reason"),
    ('[[trace]]\nfile = "a"\n[[trace.accept]]\nreason = "r"', "accept: needs either expect or golden"),
    ('[[trace]]\nfile = "a"\nbase = 16', "base is for raw batches"),
    ('[[trace]]\nfile = "a"\ndevice = "g99"', "unknown device 'g99' (known: "),
    ('fail = [{ names = ["a"] }]\n[[trace]]\nfile = "a"', "fail: needs a reason"),
    ('skip = [{ names = "a", reason = "r" }]\n[[trace]]\nfile = "a"', "skip: needs names"),
    ('fail = [{ names = ["a"], reason = "r", result = "odd" }]\n[[trace]]\nfile = "a"', "result 'odd' is not one of"),
    ("[[trace]\n", "manifest.toml: not a manifest: "),
])
def test_mistakes_are_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DecodeError) as caught:
        read_manifest(manifest(tmp_path, text))
    assert words in str(caught.value) and "manifest.toml" in str(caught.value)


def test_lists_come_from_the_manifest_and_from_expect_toml(tmp_path: Path) -> None:
    path = manifest(tmp_path, '[[trace]]\nfile = "gears.aub"\n[[fail]]\nnames = ["gears", "gone"]\nreason = "bug 1"\n')
    (tmp_path / "expect.toml").write_text('[[flake]]\nnames = ["g*", "x*"]\nreason = "bug 2"\n')
    found = read_manifest(path)
    assert [(one.list, one.reason) for one in found.listings] == [("fail", "bug 1"), ("flake", "bug 2")]
    assert unknown_names(found) == [f"{path}: fail: no trace matches 'gone'",
                                    f"{tmp_path / 'expect.toml'}: flake: no trace matches 'x*'"]


def test_a_digest_is_written_in_place_and_comments_stay() -> None:
    text = f"""# head
[[trace]]  # one
file = "a"
expect = "{DIGEST}"   # keep me

# two follows
[[trace]]
file = "b"
expect = ""
"""
    edited = with_digests(Path("m"), text, {0: OTHER, 1: DIGEST})
    assert edited == text.replace(DIGEST, OTHER).replace('expect = ""', f'expect = "{DIGEST}"')


def test_a_table_of_digests_is_written_in_place() -> None:
    text = f"""[[trace]]
file = "a"

[trace.expect]
# the window
frame-00000-color-00010000 = "{DIGEST}"  # keep me
frame-00001-color-00010000 = "{DIGEST}"

# about b
[[trace]]
file = "b"
expect = {{}}

[[skip]]
names = ["c"]
reason = "r"
"""
    edited = with_digests(Path("m"), text, {0: {"frame-00000-color-00010000": OTHER, "frame-00002-color-0": DIGEST},
                                            1: {"frame-00000-color-0": OTHER}})
    assert edited == f"""[[trace]]
file = "a"

[trace.expect]
# the window
frame-00000-color-00010000 = "{OTHER}"  # keep me
frame-00002-color-0 = "{DIGEST}"

# about b
[[trace]]
file = "b"
[trace.expect]
frame-00000-color-0 = "{OTHER}"

[[skip]]
names = ["c"]
reason = "r"
"""
    assert tomllib.loads(edited)["trace"][1]["expect"] == {"frame-00000-color-0": OTHER}


@pytest.mark.parametrize("text", [
    'trace = [{ file = "a", expect = "" }]',
    '[[trace]]\nfile = "a"\nexpect = """\n"""\n',
    '[[trace]]\nfile = """\n[[trace]]\n"""\nexpect = ""\n',
])
def test_a_layout_that_cannot_be_edited_is_refused_and_left_unchanged(text: str) -> None:
    with pytest.raises(DecodeError, match="too unusual to update"):
        with_digests(Path("m"), text, {0: DIGEST})


@pytest.mark.parametrize(("expression", "names"), [
    ("gears", "gears-brw gears-g4x"), ("GEARS and not brw", "gears-g4x"), ("fbo or (gears and brw)", "fbo gears-brw"),
    ("*-g4x", "gears-g4x"), ("=fbo", "fbo"), ("=gears", ""), ("not (gears or fbo)", "a b"), ('"a b"', "a b"),
    ('="a b"', "a b"), ("not not fbo", "fbo"), (" or ".join(["fbo"] * 5000), "fbo"),
])
def test_expressions_select_names(expression: str, names: str) -> None:
    matches = parse_expression(expression)
    chosen = [name for name in ("fbo", "gears-brw", "gears-g4x", "a b") if matches(name)]
    assert " ".join(chosen) == names


@pytest.mark.parametrize("expression", ["", "and", "a and", "(a", "a)", "a b", '"a', "not", "(" * 5000])
def test_invalid_expressions_are_named(expression: str) -> None:
    with pytest.raises(SelectionError, match="invalid expression"):
        parse_expression(expression)


@pytest.mark.parametrize("name", ["gears", "a b", "it's", "x(1)", "=", "not", "*"])
def test_every_name_can_be_selected_alone(name: str) -> None:
    matches = parse_expression(name_expression(name))
    assert matches(name) and not matches(name + "x")


def test_the_examples_of_the_documentation_are_a_manifest(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    found = read_manifest(manifest(tmp_path, "\n".join(re.findall(r"```toml\n(.*?)```", text, re.DOTALL))))
    assert [case.name for case in found.cases] == ["triangle-g4x", "gears-g4x"]
    assert {listing.list for listing in found.listings} == {"fail", "flake", "skip"} and found.cases[1].accepted


def test_the_digest_of_the_documentation_is_that_of_the_committed_trace() -> None:
    traces = Path(__file__).parents[2] / "traces"
    text = (traces.parent / "docs" / "check.md").read_text()
    [digest] = re.findall(r'file = "gears-g4x.aub.xz"\nexpect = "(\w+)"', text)
    case = replace(next(c for c in read_manifest(traces).cases if c.name == "gears-g4x"), digests=digest)
    assert run_case(case, Task()).failures == []
