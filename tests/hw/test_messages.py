"""Descriptors and headers of messages, against words that drivers send and the manual's tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import (
    MATH_LENGTHS,
    RENDER_TARGET_WRITE_SHAPES,
    SAMPLER_MESSAGES,
    expected_lengths,
    message_for,
    sampler_message,
)
from gen4emu.hw.gen4.messages import (
    DATA_PORT_MESSAGE_HEADER,
    GATEWAY_OPEN_PAYLOAD,
    GATEWAY_RESPONSE,
    MEDIA_BLOCK_MESSAGE_HEADER,
    MESSAGE_DESCRIPTOR,
    MESSAGES,
    OWORD_DUAL_BLOCK_OFFSETS,
    RENDER_TARGET_WRITE_HEADER,
    SAMPLER_MESSAGE_HEADER,
    URB_ALLOCATE_RESPONSE,
    URB_WRITE_MESSAGE_HEADER,
    GatewayError,
    GatewayLength,
    GatewaySize,
    MathFunction,
    RenderTargetWriteType,
    SamplerReturnFormat,
    SharedFunction,
)
from gen4emu.hw.layout import Message
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness.parts import GEN4_PARTS
from tests.hw.by_name import ByName

GATEWAY_FORWARD_PAYLOAD = ByName("GATEWAY_FORWARD_PAYLOAD")

MATH, SAMPLER, READ, WRITE, URB, SPAWNER = (
    f"{name}_MESSAGE" for name in ("EXTENDED_MATH", "SAMPLER", "DATA_PORT_READ", "DATA_PORT_WRITE", "URB",
                                   "THREAD_SPAWNER"))
PARTS = GEN4_PARTS


def layout_of(descriptor: int, gen: Gen) -> Message:
    found = message_for(descriptor, gen)
    assert found is not None
    return found


def text_of(descriptor: int, gen: Gen) -> dict[str, str]:
    """The fields as a person reads them."""
    view = layout_of(descriptor, gen).view((descriptor,), gen=gen)
    return {f.name: f.text(raw) for f, raw in view.fields()}


def what(descriptor: int, gen: Gen) -> list[str]:
    return [str(c) for c in layout_of(descriptor, gen).complaints((descriptor,), gen=gen)]


# --- descriptors ----------------------------------------------------------------------------------------------------
def of_math(function: str, mlen: int, **flags: str) -> dict[str, str]:
    plain = dict.fromkeys(("saturate", "scalar", "signed_integer", "partial_precision", "snapshot"), "false")
    return plain | {"math_function": function, "message_length": str(mlen), "response_length": "1"} | flags


def of_color(kind: str, mlen: int, index: int, last: str, eot: str) -> dict[str, str]:
    return {"message_type": "RENDER_TARGET", "render_target_write_type": kind, "message_length": str(mlen),
            "last_render_target_select": last, "end_of_thread": eot, "binding_table_index": str(index)}


def of_urb(swizzle: str, mlen: int, offset: int, complete: str, used: str, eot: str) -> dict[str, str]:
    return {"swizzle_control": swizzle, "message_length": str(mlen), "offset": str(offset), "complete": complete,
            "used": used, "end_of_thread": eot, "allocate": "false", "urb_opcode": "URB_WRITE"}


DESCRIPTORS: list[tuple[int, str, dict[str, str]]] = [
    (0x01110001, MATH, of_math("INV", 1)),
    (0x011100C3, MATH, of_math("EXP", 1, saturate="true", scalar="true")),
    (0x0121001C, MATH, of_math("INT_DIV_QUOTIENT", 2, signed_integer="true")),
    (0x0121000A, MATH, of_math("POW", 2)),
    (0x85A04800, WRITE, of_color("SIMD16", 10, 0, "true", "true")),
    (0x05A04003, WRITE, of_color("SIMD16", 10, 3, "false", "false")),
    (0x85604C00, WRITE, of_color("SIMD8_SUBSPANS_01", 6, 0, "true", "true")),
    (0x85F04800, WRITE, of_color("SIMD16", 15, 0, "true", "true")),
    (0x85B04800, WRITE, of_color("SIMD16", 11, 0, "true", "true")),
    (0x85A04A00, WRITE, of_color("SIMD8_DUAL_SOURCE_SUBSPANS_01", 10, 0, "true", "true")),
    (0x85A04B00, WRITE, of_color("SIMD8_DUAL_SOURCE_SUBSPANS_23", 10, 0, "true", "true")),
    (0x8650C400, URB, of_urb("INTERLEAVED", 5, 0, "true", "true", "true")),
    (0x06D04400, URB, of_urb("INTERLEAVED", 13, 0, "false", "true", "false")),
    (0x8620C460, URB, of_urb("INTERLEAVED", 2, 6, "true", "true", "true")),
    (0x8640C800, URB, of_urb("TRANSPOSE", 4, 0, "true", "true", "true")),
    (0x86108000, URB, of_urb("NONE", 1, 0, "true", "false", "true")),
    (0x053190FF, WRITE, {"message_type": "OWORD_DUAL_BLOCK", "oword_dual_block_size": "OWORDS_1",
                         "send_write_commit_message": "true", "binding_table_index": "255", "message_length": "3",
                         "response_length": "1"}),
    (0x042150FF, READ, {"message_type": "OWORD_DUAL_BLOCK", "oword_dual_block_size": "OWORDS_1",
                        "target_cache": "RENDER", "binding_table_index": "255"}),
    (0x04120301, READ, {"message_type": "OWORD_BLOCK", "oword_block_size": "OWORDS_4", "target_cache": "DATA",
                        "binding_table_index": "1", "response_length": "2"}),
    (0x0418A004, READ, {"message_type": "MEDIA_BLOCK", "target_cache": "SAMPLER", "binding_table_index": "4",
                        "response_length": "8", "vertical_line_stride_override": "false"}),
    (0x05902000, WRITE, {"message_type": "MEDIA_BLOCK", "message_length": "9", "binding_table_index": "0"}),
    (0x04110203, READ, {"message_type": "OWORD_BLOCK", "oword_block_size": "OWORDS_2", "target_cache": "DATA",
                        "binding_table_index": "3"}),
    (0x87100000, SPAWNER, {"opcode": "DEREFERENCE_RESOURCE", "requester": "ROOT_THREAD",
                           "dereference_target": "DEREFERENCE_URB_HANDLE", "end_of_thread": "true"}),
    (0x05107000, WRITE, {"message_type": "FLUSH_RENDER_CACHE"}),
    (0x0412B300, READ, {"message_type": "DWORD_SCATTERED", "dword_scattered_block_size": "DWORDS_16",
                        "target_cache": "SAMPLER"}),
]


@pytest.mark.parametrize("gen", PARTS, ids=lambda g: g.name)
@pytest.mark.parametrize(("descriptor", "name", "expected"), DESCRIPTORS, ids=[f"{d[0]:08x}" for d in DESCRIPTORS])
def test_descriptors_that_all_parts_read_alike(descriptor: int, name: str, expected: dict[str, str], gen: Gen) -> None:
    assert layout_of(descriptor, Gen.EL).name == name
    found = text_of(descriptor, gen)
    assert {key: found[key] for key in expected} == expected
    assert what(descriptor, gen) == []


def test_an_odd_read_type_is_a_new_message_on_g4x_and_an_error_on_965() -> None:
    assert text_of(0x04105800, Gen.CTG)["message_type"] == "AVC_LOOP_FILTER"
    assert what(0x04105800, Gen.CTG) == []
    assert text_of(0x04105800, Gen.CL)["message_type"] == "OWORD_DUAL_BLOCK"
    assert what(0x04105800, Gen.CL) == [
        f"{READ}: reserved_0_11_11 (dword 0, bits 11) reserved bits are 0x1, must be zero"]


@given(st.integers(0, 7), st.integers(0, 3), st.integers(0, 255))
def test_the_four_block_reads_of_965_have_the_same_bits_on_g4x(control: int, kind: int, index: int) -> None:
    descriptor = SharedFunction.DATA_PORT_READ << 24 | 1 << 20 | kind << 12 | control << 8 | index
    on_965, on_g4x = text_of(descriptor, Gen.CL), text_of(descriptor, Gen.EL)
    assert {k: v for k, v in on_965.items() if k in on_g4x} == {k: v for k, v in on_g4x.items() if k in on_965}
    assert on_965["message_type"] == on_g4x["message_type"]


def test_writes_that_came_with_g4x_are_reserved_on_965() -> None:
    for kind, name in ((5, "STREAMED_VERTEX_BUFFER"), (6, "RENDER_TARGET_UNORM")):
        descriptor = 0x05100000 | kind << 12
        assert text_of(descriptor, Gen.EL)["message_type"] == name
        assert what(descriptor, Gen.CL) == [f"{WRITE}: message_type (dword 0, bits 14:12) {kind} is reserved"]


def test_a_media_block_may_override_the_line_stride() -> None:
    view = layout_of(0x0418A704, Gen.EL).view((0x0418A704,), gen=Gen.EL)
    assert (view.vertical_line_stride_override, view.override_vertical_line_stride,
            view.override_vertical_line_stride_offset) == (True, True, 1)


def test_the_composite_check_bit_is_one_of_g4x() -> None:
    assert text_of(0x8640D800, Gen.EL)["fast_composite_restriction_check_pass"] == "true"
    assert what(0x8640D800, Gen.BW) == [
        f"{URB}: reserved_0_12_12 (dword 0, bits 12) reserved bits are 0x1, must be zero"]


def test_the_resource_of_the_thread_spawner_depends_on_the_opcode() -> None:
    assert text_of(0x07100010, Gen.EL)["dereference_target"] == "KEEP_URB_HANDLE"
    spawn = text_of(0x07100013, Gen.EL)
    assert (spawn["spawn_target"], spawn["requester"]) == ("SYNCHRONIZED_ROOT_THREAD", "CHILD_THREAD")
    assert "dereference_target" not in spawn


@pytest.mark.parametrize("descriptor", [0x81110001, 0x82580001, 0x84120301])
def test_units_that_cannot_end_a_thread_say_so(descriptor: int) -> None:
    assert what(descriptor, Gen.EL) == [
        f"{layout_of(descriptor, Gen.EL).name}: end_of_thread (dword 0, bits 31) is not allowed here"]


def test_functions_above_7_are_unassigned() -> None:
    assert [message_for(sfid << 24, Gen.EL) for sfid in range(8, 16)] == [None] * 8
    assert [m.sfid for m in MESSAGES] == list(SharedFunction)


@given(st.integers(0, 0xFFFFFFFF))
def test_the_common_part_is_the_same_in_every_descriptor(descriptor: int) -> None:
    common = MESSAGE_DESCRIPTOR.view((descriptor,), gen=Gen.EL)
    assert common.raw("shared_function") == descriptor >> 24 & 15
    message = message_for(descriptor, Gen.EL)
    if message is not None:
        view = message.view((descriptor,), gen=Gen.EL)
        for name in ("end_of_thread", "message_length", "response_length", "shared_function"):
            assert getattr(view, name) == getattr(common, name)


@pytest.mark.parametrize("function", [0, 9, 14, 15])
def test_reserved_math_functions_are_reported(function: int) -> None:
    assert what(0x01110000 | function, Gen.CL) == [f"{MATH}: math_function (dword 0, bits 3:0) {function} is reserved"]


# --- the sampler ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("descriptor", "gen", "name", "simd", "parameters"), [
    (0x02580001, Gen.CL, "sample", "16", "u v"),
    (0x02580001, Gen.EL, "sample", "16", "u v"),
    (0x02981001, Gen.EL, "sample_l", "16", "u v r lod"),
    (0x02984001, Gen.BW, "sample_l", "16", "u v r lod"),
    (0x02A42001, Gen.EL, "sample_g", "8", "u v r dudx dvdx drdx dudy dvdy drdy"),
    (0x02A48001, Gen.CL, "sample_g", "8", "u v r dudx dvdx drdx dudy dvdy drdy"),
    (0x0298E001, Gen.BW, "ld", "16", "u v r lod"),
    (0x02983001, Gen.CTG, "ld", "16", "u v r lod"),
    (0x02211000, Gen.CTG, "sample_l", "4x2", "u v r lod"),
    (0x02214000, Gen.CL, "sample_l", "4x2", "u v r lod"),
    (0x0238A001, Gen.CL, "resinfo", "16", "lod"),
    (0x02382001, Gen.EL, "resinfo", "16", "lod"),
])
def test_sampler_descriptors(descriptor: int, gen: Gen, name: str, simd: str, parameters: str) -> None:
    found = sampler_message(descriptor, gen)
    assert found is not None
    assert (found.name, found.simd, found.parameters) == (name, simd, parameters)
    assert what(descriptor, gen) == []


def test_only_965_says_what_to_return() -> None:
    view = layout_of(0x0298E001, Gen.BW).view((0x0298E001,), gen=Gen.BW)
    assert (view.message_type, view.return_format) == (3, SamplerReturnFormat.UINT32)
    assert "return_format" not in layout_of(0x02983001, Gen.EL).view((0x02983001,), gen=Gen.EL).to_dict()
    assert what(0x02589001, Gen.CL) == [f"{SAMPLER}: return_format (dword 0, bits 13:12) 1 is reserved"]
    assert what(0x02584001, Gen.EL) == [f"{SAMPLER}: message_type (dword 0, bits 15:12) 4 is above 3"]


def test_any_other_pair_of_type_and_length_is_no_sampler_message() -> None:
    pairs = {(t, n) for t in range(4) for n in range(16) if sampler_message(0x02000000 | n << 20 | t << 12, Gen.EL)}
    assert pairs == set(SAMPLER_MESSAGES) and len(pairs) == 24
    assert sampler_message(0x01110001, Gen.EL) is None and sampler_message(0x0F110001, Gen.EL) is None


@pytest.mark.parametrize("pair", SAMPLER_MESSAGES)
def test_the_length_is_what_the_parameters_need(pair: tuple[int, int]) -> None:
    message = SAMPLER_MESSAGES[pair]
    count = len(message.parameters.split())
    registers = {"16": 2 * count, "8": count, "4x2": -(-count // 4)}[message.simd]
    assert pair[1] == 1 + registers
    extra = 1 if message.name == "sample_killpix" else 0
    assert message.response_length == {"16": 8, "8": 4, "4x2": 1}[message.simd] + extra


def test_what_needs_no_sampler() -> None:
    assert {m.name for m in SAMPLER_MESSAGES.values() if not m.uses_sampler} == {"ld", "resinfo"}


# --- lengths --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("descriptor", "expected"), [
    (0x01110001, (1, 1)), (0x01120008, (1, 2)), (0x0122000B, (2, 2)), (0x0121000A, (2, 1)),
    (0x041203BB, (1, 2)), (0x042110BB, (2, 1)), (0x042150FF, (2, 1)), (0x053190FF, (3, 1)), (0x053183FF, (3, 1)),
    (0x05500400, (5, 0)), (0x05601200, (6, 0)), (0x04213200, (2, 1)), (0x0432B300, (3, 2)), (0x05503300, (5, 0)),
    (0x0418A004, (1, None)), (0x05902000, (None, 0)), (0x85A04800, (None, 0)), (0x05107000, (1, 0)),
    (0x0611E000, (None, 1)), (0x8640C800, (None, 0)), (0x87100000, (1, 0)), (0x03114000, (1, 1)), (0x03108002, (1, 0)),
    (0x02580001, (None, None)), (0x0F110001, (None, None)), (0x01110000, (None, None)), (0x03100003, (None, None)),
])
def test_lengths_follow_from_the_other_bits(descriptor: int, expected: tuple[int | None, int | None]) -> None:
    for gen in PARTS:
        assert expected_lengths(descriptor, gen) == expected


@given(st.integers(0, 0xFFFFFFFF), st.sampled_from(PARTS))
def test_any_descriptor_has_lengths_or_not(descriptor: int, gen: Gen) -> None:
    for length in expected_lengths(descriptor, gen):
        assert length is None or 0 <= length <= 6


def test_every_function_has_its_operands() -> None:
    assert set(MATH_LENGTHS) == set(MathFunction)
    assert {f.name for f, (mlen, _) in MATH_LENGTHS.items() if mlen == 2} == {
        "POW", "INT_DIV_BOTH", "INT_DIV_QUOTIENT", "INT_DIV_REMAINDER"}


@pytest.mark.parametrize(("kind", "flags", "length"), [
    (RenderTargetWriteType.SIMD16, {}, 10),
    (RenderTargetWriteType.SIMD16, {"stencil_or_alpha": True}, 11),
    (RenderTargetWriteType.SIMD16, {"source_depth": True}, 12),
    (RenderTargetWriteType.SIMD16, {"source_depth": True, "stencil_or_alpha": True}, 13),
    (RenderTargetWriteType.SIMD16, {"source_depth": True, "destination_depth": True}, 14),
    (RenderTargetWriteType.SIMD16, {"source_depth": True, "destination_depth": True, "stencil_or_alpha": True}, 15),
    (RenderTargetWriteType.SIMD16_REPLICATED, {}, 3),
    (RenderTargetWriteType.SIMD8_SUBSPANS_01, {}, 6),
    (RenderTargetWriteType.SIMD8_SUBSPANS_01, {"stencil_or_alpha": True}, 7),
    (RenderTargetWriteType.SIMD8_SUBSPANS_01, {"source_depth": True, "destination_depth": True}, 8),
    (RenderTargetWriteType.SIMD8_SUBSPANS_01,
     {"source_depth": True, "destination_depth": True, "stencil_or_alpha": True}, 9),
    (RenderTargetWriteType.SIMD8_DUAL_SOURCE_SUBSPANS_01, {}, 10),
    (RenderTargetWriteType.SIMD8_DUAL_SOURCE_SUBSPANS_23, {"source_depth": True}, 11),
    (RenderTargetWriteType.SIMD8_DUAL_SOURCE_SUBSPANS_23, {"source_depth": True, "stencil_or_alpha": True}, 12),
])
def test_lengths_of_render_target_writes(kind: RenderTargetWriteType, flags: dict[str, bool], length: int) -> None:
    assert RENDER_TARGET_WRITE_SHAPES[kind].message_length(**flags) == length


# --- headers --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("fields", "dword", "expected"), [
    ({"alpha_write_channel_mask": True}, 2, 0x8000),
    ({"green_write_channel_mask": True, "red_write_channel_mask": True, "blue_write_channel_mask": True}, 2, 0x7000),
    ({"u_offset": -1}, 2, 0x0F00), ({"v_offset": 7}, 2, 0x0070), ({"r_offset": -8}, 2, 0x0008),
    ({"force_lod_to_zero": True}, 2, 0x10000), ({"sampler_state_pointer": 0x9000}, 3, 0x9000),
])
def test_the_sampler_header(fields: dict[str, Any], dword: int, expected: int) -> None:
    words = SAMPLER_MESSAGE_HEADER.pack(Gen.EL, **fields)
    assert words == [expected if i == dword else 0 for i in range(8)]


def test_the_data_port_header_has_bytes_in_dword_2_and_scratch_in_dword_5() -> None:
    words = DATA_PORT_MESSAGE_HEADER.pack(Gen.CL, global_offset=0x230, immediate_buffer_base_address=0x4C00, fftid=0x7F)
    assert words == [0, 0, 0x230, 0, 0, 0x4C7F, 0, 0]
    assert DATA_PORT_MESSAGE_HEADER.complaints([0xFFFFFFFF] * 8, gen=Gen.CL) == []


def test_the_offsets_of_a_dual_block_are_dwords_0_and_4() -> None:
    view = OWORD_DUAL_BLOCK_OFFSETS.view([0x20, 9, 9, 9, 0x05, 9, 9, 9], gen=Gen.EL)
    assert (view.block_offset_0, view.block_offset_1) == (0x20, 5)


def test_the_media_block_header_is_signed_and_minus_one() -> None:
    words = MEDIA_BLOCK_MESSAGE_HEADER.pack(Gen.EL, x_offset=-2, y_offset=-1, block_width=8, block_height=3)
    assert words == [0xFFFFFFFE, 0xFFFFFFFF, 2 << 16 | 7, 0, 0, 0, 0, 0]
    assert MEDIA_BLOCK_MESSAGE_HEADER.pack(Gen.EL, block_width=12, block_height=64)[2] == 63 << 16 | 0x0B
    with pytest.raises(FieldError, match="block_width"):
        MEDIA_BLOCK_MESSAGE_HEADER.pack(Gen.EL, block_width=33)


def test_the_second_register_of_a_render_target_header_is_the_threads_r1() -> None:
    m1 = [0, 0, 4 << 16 | 6, 0, 0, 0, 1 << 31 | 1 << 29 | 1 << 26, 5 << 27 | 3 << 16]
    words = [0x000F0009, 0x12340, 0, 0, 0, 0, 0, 0, *m1]
    view = RENDER_TARGET_WRITE_HEADER.view(words, gen=Gen.CL)
    assert (view.dispatched_pixel_enables, view.pixel_enables, view.color_calculator_state_pointer) == (15, 9, 0x12340)
    (r1,) = view.m1
    assert (r1.subspan_0_x, r1.subspan_0_y, r1.back_facing, r1.source_depth_to_render_target) == (6, 4, True, True)
    assert (r1.destination_depth_present, r1.destination_stencil_present, r1.antialias_alpha_to_render_target) == (
        False, False, True)
    assert (r1.viewport_index, r1.render_target_array_index) == (5, 3)


def test_the_urb_header() -> None:
    words = URB_WRITE_MESSAGE_HEADER.pack(
        Gen.EL, handle_id_0=1, urb_return_handle_0=0x23, handle_id_1=4, urb_return_handle_1=0x56,
        handle_0_prim_type=PrimitiveTopology.TRIFAN, handle_0_prim_start=True, handle_0_prim_end=True, fftid=2)
    assert words == [0x10023, 0x40056, PrimitiveTopology.TRIFAN << 2 | 3, 0, 0, 2, 0, 0]
    view = URB_ALLOCATE_RESPONSE.view([0x00070011, 0, 0, 0, 0, 0, 0, 0], gen=Gen.EL)
    assert (view.handle_id, view.urb_return_handle) == (7, 0x11)


def test_the_gateway_is_opened_at_a_register_and_answers_in_dword_0() -> None:
    words = GATEWAY_OPEN_PAYLOAD.pack(Gen.EL, register_base=4, gateway_size=GatewaySize.REGISTERS_2, key=0x1212)
    assert (words[4], words[5]) == (0x1212, 4 << 21 | 1 << 8)
    answer = GATEWAY_RESPONSE.pack(Gen.EL, shared_function=SharedFunction.MESSAGE_GATEWAY,
                                   error_code=GatewayError.LIMIT_EXCEEDED)
    assert answer == [0x00030004, 0, 0, 0, 0, 0, 0, 0]
    assert [str(c) for c in GATEWAY_OPEN_PAYLOAD.complaints([0] * 5 + [128 << 21, 0, 0], gen=Gen.EL)] == [
        "GATEWAY_OPEN_PAYLOAD: register_base (dword 5, bits 28:21) 128 is above 127"]


def test_a_forwarded_message_names_a_thread_by_two_or_three_bits() -> None:
    words = GATEWAY_FORWARD_PAYLOAD.pack(Gen.EL, euid=9, tid=4, key=0x1212, offset=0x28,
                                         length=GatewayLength.DWORDS_1, data_segment_dword_0=0xABCD)
    assert (words[0], words[4], words[5]) == (0xABCD, 9 << 24 | 4 << 16 | 0x1212, 0x28 << 16 | 2 << 8)
    with pytest.raises(FieldError, match="tid"):
        GATEWAY_FORWARD_PAYLOAD.pack(Gen.BW, tid=4)
