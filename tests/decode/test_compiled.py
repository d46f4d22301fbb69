"""The compiled functions say what the layouts say, for every layout and any dwords."""

from __future__ import annotations

import json
import random

import pytest

from gen4emu.decode.compiled import complaints_of
from gen4emu.decode.fieldtext import COLOR, PLAIN, Style, lines_of
from gen4emu.decode.json_text import _finite, members_of
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Const, Float, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View

LAYOUTS = [(layout, gen) for gen in (Gen.CL, Gen.CTG) for layout in catalogue.catalogue_of(gen).all_layouts()]


def random_words(layout: Block, gen: Gen, chance: random.Random) -> list[int]:
    """Random dwords, often small, with room for two items of each array."""
    tail = sum(2 * a.item.size(gen) for a in layout.arrays_for(gen) if a.count is None)
    return [chance.choice((0, chance.getrandbits(32), 1 << chance.randrange(32))) for _ in
            range(layout.size(gen) + tail)]


def plain(view: View) -> dict[str, object]:
    """Names to values as JSON has them."""
    out: dict[str, object] = {}
    for f, raw in view.fields():
        if isinstance(f, Const) or f.name == "dword_length" or (isinstance(f, Mbz) and not raw):
            continue
        value = f.decode(raw)
        out[f.name] = getattr(value, "name", value)
    for a in view.layout.arrays_for(view.gen):
        out[a.name] = [plain(item) for item in view.array(a)]
    return out


@pytest.mark.parametrize(("layout", "gen"), LAYOUTS, ids=lambda x: getattr(x, "name", str(x)))
def test_compiled_functions_agree_with_the_layout(layout: Block, gen: Gen) -> None:
    chance = random.Random(layout.name)
    for _ in range(6):
        words = random_words(layout, gen, chance)
        view = layout.view(words, gen=gen, dwords=len(words))
        # fields
        members = json.loads(f"{{{members_of(layout, gen)(words)[:-1]}}}")
        assert members == json.loads(json.dumps(_finite(plain(view))))
        # complaints
        expected = layout.complaints(words, gen=gen, dwords=len(words))
        assert [(c.raw, c.what) for c in expected] == [(raw, what) for _, _, raw, what in
                                                      complaints_of(layout, gen)(words)]
        # text, with and without color
        text = lines_of(layout, gen, Style(PLAIN))(words)
        colored = lines_of(layout, gen, Style(COLOR))(words)
        for mark in (COLOR.value, COLOR.dim, COLOR.name, COLOR.off):
            colored = colored.replace(mark, "")
        assert colored == text
        flat = " ".join(text.split())
        for f, raw in view.fields():
            if isinstance(f, Float) and raw & 0x7F800000 != 0x7F800000:
                assert f"{f.name}={f.text(raw)}" in flat
        assert all(len(line) <= 130 for line in text.split("\n"))


def test_commands_cut_short_still_have_text_and_fields() -> None:
    for layout, gen in LAYOUTS:
        for n in range(1, layout.size(gen)):
            words = [0xF2345679] * n
            json.loads(f"{{{members_of(layout, gen)(words)[:-1]}}}")
            assert lines_of(layout, gen, Style(PLAIN))(words).count("f2345679") >= n
            complaints_of(layout, gen)(words)


def test_caches_are_bounded() -> None:
    layout = catalogue.command_named("3DSTATE_DRAWING_RECTANGLE", Gen.CTG)
    compiled = lines_of(layout, Gen.CTG, Style(PLAIN))
    for i in range(20000):
        compiled([0x79000002, i, 0, 0])
    assert max(len(c) for c in compiled.caches) <= 1024


def test_ignored_bits_are_no_complaint_and_are_told_as_ignored() -> None:
    surface = catalogue.block_named("SURFACE_STATE", Gen.CTG)
    words = surface.pack(Gen.CTG, surface_type=1)
    words[0] |= 0x3F
    assert not complaints_of(surface, Gen.CTG)(words)
    assert "ignored[5:0]=0x3f" in lines_of(surface, Gen.CTG, Style(PLAIN))(words)
    assert any(isinstance(f, Ignored) for f in surface.fields_for(Gen.CTG))
