"""Descriptors, payloads, masks and write-back (965 PRM vol. 4, 4.8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES
from gen4emu.hw.gen4.sampler import MapFilter
from gen4emu.hw.gen4.surface import SurfaceType as T
from tests.harness.messages import descriptor
from tests.harness.parts import GEN4_PARTS
from tests.harness.probe import Event
from tests.harness.texturing import JUNK, TEXTURE, Texturing, message_of

TEXEL = [np.float32(x) for x in (0.1, 0.2, 0.3, 0.4)]
BITS = np.array(TEXEL, np.float32).view(np.uint32)
CENTRE = np.full(8, 0.5, np.float32)


def sample(length: int, response: int, gen: Gen = Gen.EL, **fields: Any) -> int:
    """`sample`, of surface 1, in the form that the length says."""
    return descriptor("SAMPLER_MESSAGE", gen, length=length, response=response, **{"binding_table_index": 1} | fields)


@pytest.fixture
def t() -> Texturing:
    found = Texturing()
    found.surface(F.R32G32B32A32_FLOAT, 1, 1)
    found.memory.write(TEXTURE, BITS.tobytes())
    return found


@pytest.mark.parametrize(("gen", "descriptor", "name", "simd"), [
    (Gen.EL, 0x02580001, "sample", "16"), (Gen.EL, 0x02981001, "sample_l", "16"),
    (Gen.CL, 0x02984001, "sample_l", "16"), (Gen.EL, 0x02A42001, "sample_g", "8"),
    (Gen.CL, 0x0298E001, "ld", "16"), (Gen.EL, 0x02640001, "sample_b_c", "8"),
    (Gen.EL, 0x02382001, "resinfo", "16"), (Gen.CL, 0x0238A001, "resinfo", "16"),
    (Gen.EL, 0x02211001, "sample_l", "4x2"), (Gen.EL, 0x02742001, "sample_g", "8"),
])
def test_the_descriptors_of_clients_are_what_they_say(gen: Gen, descriptor: int, name: str, simd: str) -> None:
    message = message_of(descriptor, gen)
    assert message is not None
    assert (message.name, message.simd) == (name, simd)
    t = Texturing(gen)
    t.sampler(shadow_function=1)  # NEVER: a compare gives 1
    t.surface(F.R8G8B8A8_UNORM, 4, 4, data=bytes([255]) * 4096)
    zero = np.zeros(8, np.uint32)
    response = t.send(descriptor, [[zero] * 12])[0]
    assert response[0, 0] == (4 if name == "resinfo" else 0x3F800000)
    assert t.events() <= {Event.BAD_SURFACE, Event.BAD_FORMAT}


def test_masked_channels_are_left_out_of_simd16(t: Texturing) -> None:
    payload = [CENTRE] * 4
    alpha = t.send(sample(5, 2), [payload], header={"red_write_channel_mask": 1, "green_write_channel_mask": 1,
                                                  "blue_write_channel_mask": 1})[0]
    assert (alpha[0:2] == BITS[3]).all()
    assert (alpha[2:] == JUNK).all()
    red_green = t.send(sample(5, 4), [payload], header={"blue_write_channel_mask": 1, "alpha_write_channel_mask": 1})[0]
    assert (red_green[0:2] == BITS[0]).all()
    assert (red_green[2:4] == BITS[1]).all()
    assert (red_green[4:] == JUNK).all()
    assert t.events() == set()


def test_masked_channels_keep_their_register_in_simd8(t: Texturing) -> None:
    response = t.send(sample(4, 4), [[CENTRE] * 3], emask=0xFF, header={"green_write_channel_mask": 1})[0]
    assert [response[k, 0] for k in range(5)] == [BITS[0], JUNK, BITS[2], BITS[3], JUNK]


def test_lanes_that_are_off_are_not_written(t: Texturing) -> None:
    response = t.send(sample(5, 8), [[CENTRE] * 4], emask=0x80FE)[0]
    assert response[0, 0] == JUNK
    assert (response[0, 1:] == BITS[0]).all()
    assert (response[1, :7] == JUNK).all()
    assert response[1, 7] == BITS[0]


def test_a_simd4x2_sample_is_written_whole_if_one_of_its_channels_is_on(t: Texturing) -> None:
    row = t.message("sample_l", "4x2", 0.5, 0.5, 0.0, 0.0, emask=0x10)
    assert (row[0] == JUNK).all()
    assert (row[1] == BITS).all()


def test_inactive_lanes_feed_the_gradients_of_their_subspan(t: Texturing) -> None:
    """EMask 0x00FE, lane 0 unchanged, its subspan's level still computed from it."""
    t.surface(F.R8_UNORM, 64, 64, levels=2)
    t.texels(np.full((64, 64), 0, np.uint8))
    t.texels(np.full((32, 32), 255, np.uint8), level=1)
    t.sampler(mip=1)
    u = np.array([0, 2, 0, 2] * 4, np.float32) / 64
    v = np.array([0, 0, 2, 2] * 4, np.float32) / 64
    assert (t.sample(u, v)[:, 0] == 1.0).all()
    red = t.sample(u, v, emask=0x00FE)
    assert red.view(np.uint32)[0, 0] == JUNK
    assert (red[1:8, 0] == 1.0).all()
    u[0] = 2 / 64
    v[0] = 2 / 64
    u[2] = 2 / 64
    v[1] = 2 / 64
    assert (t.sample(u, v, emask=0x00FE)[1:4, 0] == 0.0).all()


def test_threads_with_different_headers_get_their_own_answers() -> None:
    t = Texturing(threads=8)
    t.surface(F.R32_FLOAT, 8, 1)
    t.texels(np.arange(8, dtype=np.float32)[np.newaxis])
    t.probe.start(8, binding_table=0x2000)
    payload = [[np.full(8, (i + 0.5) / 8, np.float32)] * 2 + [CENTRE] * 2 for i in range(8)]
    responses = t.send(sample(5, 8), payload)
    assert [r[0, 0].view(np.float32) for r in responses] == list(range(8))
    assert [r[1, 7].view(np.float32) for r in responses] == list(range(8))


def test_texel_offsets_are_four_bit_numbers_added_before_addressing(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 8, 8)
    t.texels(np.arange(64, dtype=np.uint8).reshape(8, 8))
    for u_offset, v_offset in ((-1, 0), (2, -3), (-8, 7)):
        x, y = min(max(4 + u_offset, 0), 7), min(max(4 + v_offset, 0), 7)
        color = t.sample(4.5 / 8, 4.5 / 8, header={"u_offset": u_offset, "v_offset": v_offset})
        assert round(float(color[0, 0]) * 255) == 8 * y + x
    assert t.load(4, 4, header={"u_offset": -1})[0, 0] == np.float32(35 / 255).view(np.uint32)


def test_a_pair_of_type_and_length_that_is_no_message_gives_zeros(t: Texturing) -> None:
    response = t.send(sample(8, 8), [[CENTRE] * 7])[0]
    assert (response[0] == 0).all()
    assert t.events() == {Event.BAD_LENGTH}


@pytest.mark.parametrize("gen", GEN4_PARTS)
def test_every_message_of_the_table_answers_on_every_part(gen: Gen) -> None:
    t = Texturing(gen)
    t.surface(F.R32_FLOAT, 4, 4)
    t.texels(np.full((4, 4), 0.25, np.float32))
    shift = 12 if gen & Gen.GEN45 else 14
    for (type_, mlen), message in SAMPLER_MESSAGES.items():
        zeros = [np.zeros(8, np.uint32)] * (mlen - 1)
        descriptor = 0x02000001 | mlen << 20 | message.response_length << 16 | type_ << shift
        first = t.send(descriptor, [zeros])[0][0, 0]
        if message.name == "resinfo":
            assert first == (4 if gen & Gen.GEN45 else np.float32(4).view(np.uint32))
        elif "_c" in message.name:
            assert first == 0  # ALWAYS is true, and true is 0
        else:
            assert first == 0x3E800000


def test_all_channels_masked_is_reported(t: Texturing) -> None:
    masks = {f"{c}_write_channel_mask": 1 for c in ("red", "green", "blue", "alpha")}
    response = t.send(sample(5, 8), [[CENTRE] * 4], header=masks)[0]
    assert (response == JUNK).all()
    assert Event.BAD_MESSAGE in t.events()


def test_the_end_of_a_thread_is_not_for_the_sampler(t: Texturing) -> None:
    t.send(sample(5, 8, end_of_thread=True), [[CENTRE] * 4])
    assert Event.EOT_WRONG_UNIT in t.events()


def test_a_short_response_is_cut_and_reported(t: Texturing) -> None:
    response = t.send(sample(5, 2), [[CENTRE] * 4])[0]
    assert (response[0:2] == BITS[0]).all()
    assert (response[2:] == JUNK).all()
    assert t.events() == {Event.BAD_RESPONSE}


@pytest.mark.parametrize("surface", ["null", "missing"])
def test_a_null_surface_reads_as_zero(t: Texturing, surface: str) -> None:
    if surface == "null":
        t.surface(F.R32_UINT, type=T.SURFTYPE_NULL)
    else:
        t.memory.write(0x2004, (0x7000000).to_bytes(4, "little"))
    assert (t.sample(0.5, 0.5) == 0).all()
    assert (t.load(0, 0) == 0).all()
    assert (t.message("resinfo", "16", 0, integers=True) == 0).all()


def test_a_disabled_sampler_returns_zero(t: Texturing) -> None:
    t.sampler(sampler_disable=1)
    assert t.at(0.5) == [0.0] * 4


def test_a_buffer_can_not_be_sampled(t: Texturing) -> None:
    t.surface(F.R32G32B32A32_FLOAT, 64, type=T.SURFTYPE_BUFFER, data=b"\x40" * 1024)
    assert t.at(0.5) == [0.0] * 4
    assert t.events() == {Event.BAD_SURFACE}


@pytest.mark.parametrize("format", [F.R8G8B8_UNORM, F.R16G16B16A16_SSCALED, F.B5G5R5X1_UNORM])
def test_a_format_that_the_sampler_does_not_know_reads_as_zero(t: Texturing, format: F) -> None:
    t.surface(format, 4, 4, data=b"\xff" * 4096)
    assert t.at(0.5) == [0.0] * 4
    assert t.events() == {Event.BAD_FORMAT}


def test_formats_of_gen45_do_not_exist_on_gen4() -> None:
    t = Texturing(Gen.CL)
    t.surface(F.L8_UNORM_SRGB, 4, 4, data=b"\xff" * 4096)
    assert t.at(0.5) == [0.0] * 4
    assert t.events() == {Event.BAD_FORMAT}


def test_integer_formats_return_integers_whatever_the_filter(t: Texturing) -> None:
    t.surface(F.R8G8_SINT, 2, 1)
    t.texels(np.array([[[0xFF, 5], [0x80, 6]]], np.uint8))
    t.sampler(MapFilter.LINEAR)
    assert list(t.sample(0.1, 0.5)[0].view(np.uint32)) == [0xFFFFFFFF, 5, 0, 1]
    assert list(t.sample(0.9, 0.5)[0].view(np.uint32)) == [0xFFFFFF80, 6, 0, 1]


def test_s1_14_results_are_multiples_of_2_to_the_minus_14(t: Texturing) -> None:
    t.surface(F.R8_UNORM, 1, 1, data=bytes([100]) * 64, data_return_format=1)
    assert t.at(0.5)[0] * 16384 == 6425  # 100 / 255 * 16384 = 6425.098
    assert t.at_level(0.0)[0] * 16384 == 6425
    assert t.message("sample_l", "4x2", 0.5, 0.5, 0.0, 0.0).view(np.float32)[0, 0] == np.float32(100 / 255)


@pytest.mark.parametrize(("gen", "off"), [(Gen.EL, 0xFF), (Gen.CL, 0x0F)])
def test_killpix_returns_which_pixels_live(gen: Gen, off: int) -> None:
    t = Texturing(gen)
    t.surface(F.B8G8R8A8_UNORM, 2, 1)
    t.texels(np.array([[[1, 2, 3, 4], [9, 9, 9, 9]]], np.uint8))
    t.sampler(chroma_key_enable=1, chroma_key_index=2)
    key = t.probe.state.chroma_key[2]
    key[0], key[1] = 0x04030201, 0x04030201
    u = np.array([0.1, 0.9] * 4, np.float32)
    response = t.send(sample(4, 5, gen, message_type=1), [[u, CENTRE, CENTRE]], emask=0x0F)[0]
    assert response[4, 0] == 0xFFFFFF00 | (0xAA | 0xF0 & off) & off & ~0x05
    assert (response[4, 1:] == JUNK).all()
    assert response[0, 0] == np.float32(3 / 255).view(np.uint32)
