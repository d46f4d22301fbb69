"""The encoding of Gen6: Gen4's, with AccWrEn, two jump targets, math as an opcode and three sources.

Mesa, src/intel/compiler/brw_inst.h, brw_reg_type.c and brw_eu_compact.c; Sandy Bridge PRM vol. 4 part 2.
"""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6 import messages
from gen4emu.isa import gen4
from gen4emu.isa.fields import (
    CompactField,
    CompactForm,
    Hidden,
    HiddenOperands,
    Implied,
    InstField,
    When,
)
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.later_message_text import MATH_NAMES, SFID_NAMES, describe_message
from gen4emu.isa.registers import Arf, ImmType, RegType


def ternary_source(index: int, base: int, abs_bit: int) -> tuple[InstField, ...]:
    """The fields of a source of an instruction with three: 20 bits from `base` on, and its modifiers in DW1."""
    def f(name: str, hi: int, lo: int, shift: int = 0) -> InstField:
        return InstField(f"ternary_src{index}_{name}", hi, lo, When.TERNARY, shift=shift)
    return (f("replicate", base, base), f("swizzle", base + 8, base + 1), f("subreg_nr", base + 11, base + 9, 2),
            f("reg_nr", base + 19, base + 12), f("abs", abs_bit, abs_bit), f("negate", abs_bit + 1, abs_bit + 1))


def ternary_reserved(*places: tuple[int, int]) -> tuple[InstField, ...]:
    return tuple(InstField(f"reserved_ternary_{hi}_{lo}", hi, lo, When.TERNARY) for hi, lo in places)


_FIELDS: tuple[InstField, ...] = (
    InstField("quarter_control", 13, 12),
    InstField("acc_write_control", 28, 28),
    InstField("sfid", 27, 24, When.SEND),
    InstField("math_function", 27, 24, When.MATH),
    InstField("jump_count", 63, 48, When.BRANCH, signed=True),  # of branches with one target
    InstField("jip", 111, 96, When.BRANCH, signed=True),
    InstField("uip", 127, 112, When.BRANCH, signed=True),
    InstField("send_descriptor", 126, 96, When.SEND),
    InstField("send_end_of_thread", 127, 127, When.SEND),
    # three sources, all of type F
    InstField("ternary_dst_file", 32, 32, When.TERNARY),
    InstField("ternary_flag_subreg", 33, 33, When.TERNARY),
    InstField("ternary_dst_writemask", 52, 49, When.TERNARY),
    InstField("ternary_dst_subreg_nr", 55, 53, When.TERNARY, shift=2),
    InstField("ternary_dst_reg_nr", 63, 56, When.TERNARY),
    *ternary_source(0, 64, 36),
    *ternary_source(1, 85, 38),
    *ternary_source(2, 106, 40),
    *ternary_reserved((35, 34), (48, 42), (84, 84), (105, 105), (127, 126)),
)

_GONE = frozenset({"compression", "mask_control_ex", "base_mrf", "pop_count", "reserved_127_116"}) | {
    f.name for f in gen4.FIELDS if f.when is When.SEND and f.lo >= 96}

# --- compacted words --------------------------------------------------------------------------------------------------
_CONTROL: tuple[int, ...] = (
    0x00000, 0x08000, 0x06000, 0x00100, 0x02000, 0x01100, 0x00102, 0x00002,
    0x08100, 0x0A000, 0x16000, 0x04000, 0x1A000, 0x18000, 0x09100, 0x08008,
    0x08004, 0x00008, 0x00004, 0x07100, 0x01102, 0x06100, 0x06001, 0x04001,
    0x06002, 0x06005, 0x06009, 0x06010, 0x06003, 0x06004, 0x06108, 0x04009,
)

_DATA_TYPE: tuple[int, ...] = (
    0x09C00, 0x08C20, 0x09C01, 0x08060, 0x0AD29, 0x081AD, 0x0C62C, 0x0BDAD,
    0x081EC, 0x08061, 0x08CA5, 0x08041, 0x08231, 0x08229, 0x08020, 0x08232,
    0x0A529, 0x0B4A5, 0x081A5, 0x0C629, 0x0B62C, 0x0B5A5, 0x0BDA5, 0x0F7BD,
    0x0F7BC, 0x0F7BD, 0x0F79D, 0x0F7BE, 0x08021, 0x08022, 0x09FDD, 0x083BE,
)

_SUBREG: tuple[int, ...] = (
    0x0000, 0x0004, 0x0180, 0x7000, 0x3C08, 0x0400, 0x0010, 0x0C0C,
    0x1000, 0x0200, 0x0294, 0x0056, 0x2000, 0x6000, 0x0800, 0x0080,
    0x0008, 0x4000, 0x0280, 0x1400, 0x1800, 0x0054, 0x5A94, 0x2800,
    0x008F, 0x3000, 0x7C00, 0x5000, 0x000F, 0x088F, 0x108F, 0x0C00,
)

_SOURCE: tuple[int, ...] = (
    0x000, 0x588, 0x468, 0x228, 0x690, 0x120, 0x46C, 0x570, 0x678, 0x328, 0x58C, 0x220, 0x58A, 0x002, 0x550, 0x568,
    0xF4C, 0xF2C, 0x670, 0x589, 0x558, 0x348, 0x42C, 0x400, 0x370, 0x310, 0x300, 0x46A, 0x378, 0x070, 0x320, 0x350,
)

IMMEDIATE = ((63, 56), (39, 35))  # 13 bits: where source 1 would be

_COMPACT_FIELDS = tuple(CompactField("acc_write_control", 23, 23, ((28, 28),)) if f.name == "mask_control_ex" else f
                        for f in gen4.COMPACT_FIELDS)
_COMPACT = CompactForm(_COMPACT_FIELDS, {"control": _CONTROL, "data_type": _DATA_TYPE, "subreg": _SUBREG,
                                         "source": _SOURCE}, IMMEDIATE)

# --- operands that text does not show ---------------------------------------------------------------------------------
_JUMP_IN_DST: HiddenOperands = (Hidden.IMMEDIATE_W, Hidden.NULL_D, Hidden.NULL_D)
HIDDEN: dict[str, HiddenOperands] = {
    **dict.fromkeys(("else", "endif", "while", "case", "fork"), _JUMP_IN_DST),
    "if": (Hidden.IMMEDIATE_W, None, None),  # its sources are members, since it may compare them
    **dict.fromkeys(("break", "halt"), (Hidden.NULL_D, Hidden.NULL_D, Hidden.IMMEDIATE_D)),
    "cont": (Hidden.IP, Hidden.IP, Hidden.IMMEDIATE_D),
    "jmpi": (Hidden.IP, Hidden.IP, None),
    "wait": (None, Hidden.DESTINATION, Hidden.NULL_F),
}

GEN6 = GEN4.derive(
    "gen6", Gen.GEN6, changes=_FIELDS, without=_GONE,
    immediate_types={code: ImmType.UV if t is ImmType.UB else t for code, t in GEN4.immediate_types.items()},
    message_descriptor=messages.MESSAGE_DESCRIPTOR, shared_functions=SFID_NAMES, math_functions=MATH_NAMES,
    describe_message=describe_message, compact_form=_COMPACT, ternary_types={0: RegType.F},
    hidden=dict.fromkeys(Implied, HIDDEN),
    architecture_registers={**GEN4.architecture_registers, Arf.N: 1, Arf.TDR: 1, Arf.TM: 1},
    mrf_count=24, jump_unit=8, jmpi_unit=8, compacted_jump_size=8, compaction_clears_src1_type=True,
    flag_follows_group=True,
)
