"""The debug registers of the fixed functions, the thread dispatcher, the shared functions and the EUs.

965 PRM vol. 4, chapter 3: control, trigger value and return data of each unit.  Here they are storage with names.
Return data is read-only, EU_ATT_CLR write-only.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Field, Mbz, Uint
from gen4emu.hw.layout import Block, Register

_CHAPTER = "965v4 "


def _register(name: str, offset: int, section: str, fields: list[Field], doc: str = "") -> Register:
    return Register(name, offset, fields, ref=_CHAPTER + section, doc=doc)


def _return_data(name: str, offset: int, section: str) -> Register:
    return _register(name, offset, section, [Uint("data", 0, 31, 0, hex=True)], "read only: what the mux selects")


def _number(name: str, offset: int, section: str, field: str, bits: int, *, hex: bool = False) -> Register:
    """A number in the low bits."""
    rest: list[Field] = [] if bits == 32 else [Mbz(0, 31, bits)]
    return _register(name, offset, section, [*rest, Uint(field, 0, bits - 1, 0, hex=hex)])


def _pair(name: str, offset: int, section: str, prefix: str) -> Register:
    return _register(name, offset, section, [Uint(f"{prefix}y", 0, 31, 16), Uint(f"{prefix}x", 0, 15, 0)])


def _mux() -> Field:
    return Uint("output_mux_select", 0, 15, 8)


def _complete() -> Field:
    return Bool("snapshot_complete", 0, 31)


def _snapshot_enables() -> list[Field]:
    """Bits 2:0 of the units that dispatch threads."""
    return [Bool("snapshot_all_threads", 0, 2), Bool("thread_snapshot_enable", 0, 1), Bool("snapshot_enable", 0, 0)]


def _thread_unit(name: str, offset: int, section: str) -> Register:
    """The control register of VS, GS and CLIP."""
    return _register(f"{name}_CTL", offset, section, [
        _complete(), Mbz(0, 30, 16), _mux(), Mbz(0, 7, 3), *_snapshot_enables(),
    ])


_STATE_VARIABLES = (
    _register("SVG_CTL", 0x7400, "3.3.3.1", [Mbz(0, 31, 16), _mux(), Mbz(0, 7, 0)], "0 to 5: bases, bounds, SIP"),
    _return_data("SVG_RDATA", 0x7404, "3.3.3.2"),
    _register("SVG_WORK_CTL", 0x7408, "3.3.3.3", [
        Mbz(0, 31, 5),
        Bool("stateless_access_allowed", 0, 4, doc="965 steppings A and B"),
        Mbz(0, 3, 2),
        Bool("disable_windower_panic_dispatch", 0, 1),
        Bool("interpolate_chrominance", 0, 0, doc="YUV 4:2:2; else replicate"),
    ]),
)

_VERTEX_FETCH = (
    _register("VF_CTL", 0x7500, "3.3.4.1", [
        _complete(), Mbz(0, 30, 16), _mux(), Mbz(0, 7, 5),
        Bool("snapshot_by_index", 0, 4, doc="else by sequence number"),
        Bool("skip_initial_primitives", 0, 3),
        Bool("max_primitives_limit_enable", 0, 2),
        Bool("vertex_range_limit_enable", 0, 1),
        Bool("snapshot_enable", 0, 0),
    ]),
    _number("VF_STRG_VAL", 0x7504, "3.3.4.2", "vertex", 32),
    _number("VF_STR_VL_OVR", 0x7508, "3.3.4.3", "start_vertex_location_override", 32),
    _number("VF_VC_OVR", 0x750C, "3.3.4.4", "vertex_count_per_instance_override", 32),
    _number("VF_STR_PSKIP", 0x7510, "3.3.4.5", "starting_primitives_skipped", 24),
    _number("VF_MAX_PRIM", 0x7514, "3.3.4.6", "max_primitives", 24),
    _return_data("VF_RDATA", 0x7518, "3.3.4.7"),
)

_SHADERS = (
    _thread_unit("VS", 0x7600, "3.3.5.1"),
    _number("VS_STRG_VAL", 0x7604, "3.3.5.2", "thread_id", 24),
    _return_data("VS_RDATA", 0x7608, "3.3.5.3"),
    _thread_unit("GS", 0x7900, "3.3.6.1"),
    _number("GS_STRG_VAL", 0x7904, "3.3.6.2", "snapshot_id", 28),
    _return_data("GS_RDATA", 0x7908, "3.3.6.3"),
    _thread_unit("CL", 0x7A00, "3.3.7.1"),
    _number("CL_STRG_VAL", 0x7A04, "3.3.7.2", "snapshot_id", 28),
    _return_data("CL_RDATA", 0x7A08, "3.3.7.3"),
)

_STRIPS_FANS = (
    _register("SF_CTL", 0x7B00, "3.3.8.1", [
        _complete(), Bool("cull_all", 0, 30), Mbz(0, 29, 16), _mux(), Mbz(0, 7, 5),
        Bool("primitive_range_enable", 0, 4),
        Bool("debug_clip_rectangle_enable", 0, 3),
        *_snapshot_enables(),
    ]),
    _number("SF_STRG_VAL", 0x7B04, "3.3.8.2", "snapshot_id", 28),
    _number("SF_MIN_PR_IND", 0x7B08, "3.3.8.3", "minimum_primitive_index", 28),
    _number("SF_MAX_PR_IND", 0x7B0C, "3.3.8.4", "maximum_primitive_index", 28),
    _pair("SF_CLIP_RMIN", 0x7B10, "3.3.8.5", "minimum_"),
    _pair("SF_CLIP_RMAX", 0x7B14, "3.3.8.6", "maximum_"),
    _return_data("SF_RDATA", 0x7B18, "3.3.8.7"),
)

_WINDOWER = (
    _register("WIZ_CTL", 0x7C00, "3.3.9.1", [
        _complete(), Mbz(0, 30, 24),
        Uint("subspan_instance_number", 0, 23, 16),
        _mux(), Mbz(0, 7, 7),
        Bool("single_subspan_dispatch", 0, 6),
        Bool("ignore_color_scoreboard_stalls", 0, 5),
        Bool("subspan_instance_compare_enable", 0, 4),
        Bool("use_upstream_snapshot_flag", 0, 3),
        *_snapshot_enables(),
    ]),
    _pair("WIZ_STRG_VAL", 0x7C04, "3.3.9.2", "pixel_"),
    _return_data("WIZ_RDATA", 0x7C08, "3.3.9.3"),
)

_MEDIA = (
    _register("VFE_CTL", 0x7D00, "3.3.10.1", [
        _complete(), Mbz(0, 30, 16), _mux(), Mbz(0, 7, 1), Bool("snapshot_enable", 0, 0),
    ]),
    _number("VFE_STRG_VAL", 0x7D04, "3.3.10.2", "snapshot_id", 28),
    _return_data("VFE_RDATA", 0x7D08, "3.3.10.3"),
    _register("TS_CTL", 0x7E00, "3.3.11.1", [
        _complete(), Mbz(0, 30, 16), _mux(), Mbz(0, 7, 3),
        Bool("snapshot_all_child_threads", 0, 2),
        Bool("snapshot_all_root_threads", 0, 1),
        Bool("thread_snapshot_enable", 0, 0),
    ]),
    _number("TS_STRG_0_6_VAL", 0x7E04, "3.3.11.2", "r0_6_value", 24, hex=True),
    _number("TS_STRG_0_7_VAL", 0x7E08, "3.3.11.3", "r0_7_value", 24, hex=True),
    _return_data("TS_RDATA", 0x7E0C, "3.3.11.4"),
)


def _execution_mask(unit: str, offset: int, section: str) -> Register:
    return _number(f"TD_{unit}_EMSK", offset, section, "execution_mask", 16, hex=True)


_THREAD_DISPATCHER = (
    _register("TD_CTL", 0x8000, "3.4.1.1", [
        Mbz(0, 31, 16), _mux(),
        Bool("external_halt_on_r0_match", 0, 7),
        Bool("force_external_halt", 0, 6),
        Bool("exception_mask_override", 0, 5),
        Bool("force_thread_breakpoint_enable", 0, 4),
        Mbz(0, 3, 3),
        Bool("breakpoint_enable", 0, 2),
        Mbz(0, 1, 0),
    ]),
    _register("TD_CTL2", 0x8004, "3.4.1.2", [
        Mbz(0, 31, 29),
        Bool("illegal_opcode_exception_override", 0, 28),
        Mbz(0, 27, 27),
        Bool("mask_stack_exception_override", 0, 26),
        Bool("software_exception_override", 0, 25),
        Mbz(0, 24, 19),
        Uint("active_thread_limit", 0, 18, 16),
        Mbz(0, 15, 9),
        Bool("active_thread_limit_enable", 0, 8),
        Bool("thread_spawner_execution_mask_enable", 0, 7),
        Bool("windower_execution_mask_enable", 0, 6),
        Bool("sf_execution_mask_enable", 0, 5),
        Bool("clip_execution_mask_enable", 0, 4),
        Bool("gs_execution_mask_enable", 0, 3),
        Mbz(0, 2, 1),
        Bool("vs_execution_mask_enable", 0, 0),
    ]),
    _execution_mask("VF_VS", 0x8008, "3.4.1.3"),
    _execution_mask("GS", 0x800C, "3.4.1.4"),
    _execution_mask("CLIP", 0x8010, "3.4.1.5"),
    _execution_mask("SF", 0x8014, "3.4.1.6"),
    _execution_mask("WIZ", 0x8018, "3.4.1.7"),
    _number("TD_0_6_EHTRG_VAL", 0x801C, "3.4.1.8", "r0_6_value", 24, hex=True),
    _number("TD_0_7_EHTRG_VAL", 0x8020, "3.4.1.9", "r0_7_value", 24, hex=True),
    _number("TD_0_6_EHTRG_MSK", 0x8024, "3.4.1.10", "r0_6_mask", 24, hex=True),
    _number("TD_0_7_EHTRG_MSK", 0x8028, "3.4.1.11", "r0_7_mask", 24, hex=True),
    _return_data("TD_RDATA", 0x802C, "3.4.1.12"),
    _execution_mask("TS", 0x8030, "3.4.1.13"),
)


def _breakpoint_address(name: str, offset: int, section: str) -> Register:
    return _register(name, offset, section, [
        Address("breakpoint_address", 0, 31, 4), Mbz(0, 3, 1), Bool("enable", 0, 0),
    ])


_SHARED_FUNCTIONS = (
    _register("MATH_CTL", 0x8100, "3.4.2.1", [
        Mbz(0, 31, 18), Uint("unit_select", 0, 17, 16, high=1), _mux(), Mbz(0, 7, 2),
        Bool("non_pipelined_mode_enable", 0, 1), Mbz(0, 0, 0),
    ]),
    _return_data("MATH_RDATA", 0x8104, "3.4.2.2"),
    _register("ISC_CTL", 0x8200, "3.4.3.1", [Mbz(0, 31, 0)]),
    _register("ISC_L1CA_CTR", 0x8280, "3.4.4.1", [Mbz(0, 31, 16), _mux(), Mbz(0, 7, 0)]),
    _return_data("ISC_L1CA_RDATA", 0x8284, "3.4.4.2"),
    _breakpoint_address("ISC_L1CA_BP_ADR1", 0x8288, "3.4.4.3"),
    _breakpoint_address("ISC_L1CA_BP_ADR2", 0x8290, "3.4.4.4"),
    _register("ISC_L1CA_BP_OPC1", 0x8294, "3.4.4.5", [
        Mbz(0, 31, 24), Uint("opcode", 0, 23, 16, hex=True), Mbz(0, 15, 2),
        Bool("end_of_thread_enable", 0, 1), Bool("enable", 0, 0),
    ]),
    _register("ISC_L1CA_BP_OPC2", 0x8298, "3.4.4.6", [
        Mbz(0, 31, 24), Uint("opcode", 0, 23, 16, hex=True), Mbz(0, 15, 1), Bool("enable", 0, 0),
    ]),
    _register("MA_DEBUG_1", 0x8300, "3.4.5.1", [
        Mbz(0, 31, 5),
        Bool("writeback_arbiter_halt", 0, 4),
        Bool("row_input_arbiter_halt", 0, 3),
        Bool("shared_function_arbiter_halt", 0, 2),
        Bool("non_pipelined_mode_enable", 0, 1),
        Mbz(0, 0, 0),
    ]),
    _register("SAMPLER_CTL", 0x8400, "3.4.6.1", [
        Mbz(0, 31, 16), _mux(), Uint("unit_select", 0, 7, 3, high=8),
        Bool("texture_l1_cache_disable", 0, 2), Mbz(0, 1, 0),
    ]),
    _return_data("SAMPLER_RDATA", 0x8404, "3.4.6.2"),
    _register("DP_CTL", 0x8500, "3.4.7.1", [Mbz(0, 31, 16), _mux(), Mbz(0, 7, 0)]),
    _return_data("DP_RDATA", 0x8504, "3.4.7.2"),
    _register("RC_CTL", 0x8600, "3.4.8.1", [
        Mbz(0, 31, 16), _mux(), Mbz(0, 7, 3),
        Bool("default_color_enable", 0, 2),
        Bool("non_pipelined_mode_enable", 0, 1),
        Bool("snapshot_enable", 0, 0),
    ]),
    # The manual prints 8603h, one byte into the register before it.
    _number("RC_DEF_CLR", 0x8604, "3.4.8.2", "default_color", 32, hex=True),
    _return_data("RC_RDATA", 0x8608, "3.4.8.3"),
    _register("URB_CTL", 0x8700, "3.4.9.1", [
        _complete(), Mbz(0, 30, 20), Uint("output_register_select", 0, 19, 16), _mux(), Mbz(0, 7, 1),
        Bool("snapshot_enable", 0, 0),
    ]),
    _return_data("URB_RDATA", 0x8708, "3.4.9.2"),
)


def _attention(name: str, offset: int, section: str, field: str, bits: int, doc: str) -> Register:
    """128 bits of which the low 32 or 64 name threads."""
    used = bits // 32
    return Register(name, offset, [
        Uint(field, 0, bits - 1, 0, hex=True),
        *(Mbz(dword) for dword in range(used, 4)),
    ], dwords=4, ref=_CHAPTER + section, doc=doc)


_EXECUTION_UNITS = (
    _register("EU_CTL", 0x8800, "3.5.1", [
        Mbz(0, 31, 19), Uint("eu_select", 0, 18, 16), _mux(), Mbz(0, 7, 0),
    ]),
    # The manual gives EU_ATT_DATA 64 bits and reserves 127:32 at once; it orders threads from the top bit down in
    # the first two registers and from the bottom up in the third.
    _attention("EU_ATT", 0x8810, "3.5.2", "attention", 32, "read only"),
    _attention("EU_ATT_DATA", 0x8820, "3.5.3", "attention_data", 64, "read only"),
    _attention("EU_ATT_CLR", 0x8830, "3.5.4", "attention_clear", 32, "write only"),
    _return_data("EU_RDATA", 0x8840, "3.5.5"),
)

REGISTERS: tuple[Register, ...] = (
    *_STATE_VARIABLES, *_VERTEX_FETCH, *_SHADERS, *_STRIPS_FANS, *_WINDOWER, *_MEDIA, *_THREAD_DISPATCHER,
    *_SHARED_FUNCTIONS, *_EXECUTION_UNITS,
)


# --- return data: what a mux selects ----------------------------------------------------------------------------------
def _data(name: str, section: str, fields: list[Field]) -> Block:
    return Block(name, 1, fields, ref=_CHAPTER + section)


SHARED_FUNCTION_ERROR = _data("SHARED_FUNCTION_ERROR", "3.4.6.1, 3.4.7.1 and 3.4.9.1", [
    Mbz(0, 31, 28), Uint("ffid", 0, 27, 24), Mbz(0, 23, 23), Uint("tid", 0, 22, 21), Mbz(0, 20, 20),
    Uint("euid", 0, 19, 16), Uint("error_code", 0, 15, 0, hex=True),
])
MATH_ERROR = _data("MATH_ERROR", "3.4.2.1", [
    Mbz(0, 31, 28), Uint("ffid", 0, 27, 24), Mbz(0, 23, 22), Uint("tid", 0, 21, 20), Uint("euid", 0, 19, 16),
    Uint("response_length", 0, 15, 12), Uint("message_length", 0, 11, 8), Uint("opcode", 0, 7, 4),
    Uint("error_code", 0, 3, 0, hex=True),
])
SPAWNER_ERROR = _data("SPAWNER_ERROR", "3.3.11.1", [
    Uint("function_control", 0, 31, 27), Bool("end_of_thread", 0, 26), Uint("ffid", 0, 25, 22),
    Uint("euid", 0, 21, 18), Uint("tid", 0, 17, 16), Bool("error_code_valid", 0, 15), Uint("dispatch_id", 0, 14, 10),
    Uint("urb_handle", 0, 9, 1), Uint("error_code", 0, 0, 0),
])
SPAWNER_SNAPSHOT = _data("SPAWNER_SNAPSHOT", "3.3.11.1", [
    Mbz(0, 31, 30), Bool("child_thread", 0, 29), Mbz(0, 28, 28), Uint("interface_descriptor", 0, 27, 0, hex=True),
])
