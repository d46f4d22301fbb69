"""The formats that the units of Gen6 to Gen9 accept: their numbers, and formats whose support changed."""

from __future__ import annotations

import pytest

from gen4emu.hw.format_support import LATER_SUPPORT, supports
from gen4emu.hw.formats import FORMATS
from gen4emu.hw.gen import Gen
from gen4emu.hw.later_formats import AstcSurfaceFormat

PARTS = (Gen.SNB, Gen.IVB, Gen.BYT, Gen.HSW, Gen.BDW, Gen.SKL)


def first_part(name: str, use: str) -> str | None:
    """The first of Sandy Bridge, Ivy Bridge, Haswell, Broadwell and Skylake that supports a use."""
    code = int(AstcSurfaceFormat[name])
    return next((part.name for part in PARTS if part != Gen.BYT and supports(code, use, part)), None)


def test_every_code_has_one_row() -> None:
    assert set(LATER_SUPPORT) == set(AstcSurfaceFormat)


@pytest.mark.parametrize(("use", "numbers"), [
    # Sandy Bridge, Ivy Bridge, Haswell.  Ivy Bridge added R32G32_FLOAT_LD, Haswell 18 vertex formats.
    ("render_target", (57, 58, 58)),
    ("blend", (34, 35, 35)),
    ("vertex_fetch", (86, 87, 105)),
])
def test_numbers_of_formats(use: str, numbers: tuple[int, ...]) -> None:
    assert numbers == tuple(sum(bool(getattr(support, use) & part) for support in LATER_SUPPORT.values())
                            for part in (Gen.SNB, Gen.IVB, Gen.HSW))


def test_what_a_part_can_do_its_successors_can() -> None:
    order = (Gen.SNB, Gen.IVB, Gen.HSW, Gen.BDW, Gen.SKL, Gen.KBL)
    for code, support in LATER_SUPPORT.items():
        for use in support.__dataclass_fields__:
            has = [bool(getattr(support, use) & part) for part in order]
            assert has == sorted(has), (code.name, use)


def test_only_sampled_formats_are_filtered_or_compared() -> None:
    for support in LATER_SUPPORT.values():
        assert not support.filter & ~support.sample
        assert not support.shadow & ~support.sample
        assert not support.blend & ~support.render_target


@pytest.mark.parametrize(("name", "use", "part"), [
    ("R32G32B32A32_FLOAT", "filter", "SNB"),
    ("R32G32B32A32_FLOAT", "typed_write", "IVB"),
    ("R32G32B32A32_FLOAT", "typed_read", "SKL"),
    ("R32G32B32A32_FLOAT", "lossless_compression", "SKL"),
    ("R32_UINT", "typed_read", "IVB"),
    ("R32_UINT", "typed_atomics", "IVB"),
    ("R8G8B8A8_UINT", "typed_read", "HSW"),
    ("R16G16B16A16_SNORM", "blend", "SNB"),
    ("R32G32_FLOAT_LD", "sample", "IVB"),
    ("A8P8_UNORM_PALETTE1", "sample", "SNB"),
    ("R16G16B16_FLOAT", "sample", "SNB"),
    ("R8G8B8_UNORM", "sample", "HSW"),
    ("BC6H_UF16", "filter", "IVB"),
    ("BC7_UNORM_SRGB", "sample", "IVB"),
    ("R32_SFIXED", "vertex_fetch", "HSW"),
    ("B10G10R10A2_SINT", "vertex_fetch", "HSW"),
    ("R64_PASSTHRU", "vertex_fetch", "BDW"),
    ("ETC2_EAC_RGBA8", "sample", "BDW"),
    ("B8G8R8X8_UNORM", "render_target", "BDW"),
    ("ASTC_LDR_2D_12X12_FLT16", "sample", "SKL"),
    ("ASTC_HDR_2D_4X4_FLT16", "sample", None),
    ("PLANAR_420_8", "sample", None),
])
def test_the_first_part_with_a_use(name: str, use: str, part: str | None) -> None:
    assert first_part(name, use) == part


def test_bay_trail_has_etc_and_the_vertex_formats_of_haswell() -> None:
    assert supports(AstcSurfaceFormat["ETC2_SRGB8"], "filter", Gen.BYT)
    assert not supports(AstcSurfaceFormat["ETC2_SRGB8"], "filter", Gen.HSW)
    for code in AstcSurfaceFormat:
        assert supports(code, "vertex_fetch", Gen.BYT) == supports(code, "vertex_fetch", Gen.HSW)
        if code.name != "R32G32_FLOAT_LD" and not code.name.startswith(("ETC", "EAC")):
            assert supports(code, "sample", Gen.BYT) == supports(code, "sample", Gen.IVB)


def test_gen4_answers_from_its_own_table() -> None:
    for f in FORMATS:
        assert supports(f.format, "sample", Gen.EL) == bool(f.support.sample & Gen.EL)
        assert not supports(f.format, "typed_write", Gen.EL)
    assert not supports(AstcSurfaceFormat["BC7_UNORM"], "sample", Gen.EL)


def test_reserved_codes_support_nothing() -> None:
    assert not supports(0x1FE, "sample", Gen.SKL)
    assert not supports(-1, "sample", Gen.SKL)
