"""The encoding of Gen7: Gen6's, with nibble control, a second flag register, DF and no message registers.

Mesa, src/intel/compiler/brw_inst.h, brw_reg_type.c and brw_eu_compact.c; Ivy Bridge PRM vol. 4 part 3.
"""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7 import messages
from gen4emu.isa import gen6
from gen4emu.isa.fields import CompactField, CompactForm, Hidden, HiddenOperands, Implied, InstField, When
from gen4emu.isa.gen6 import GEN6, IMMEDIATE, ternary_reserved
from gen4emu.isa.registers import Arf, RegType

_FIELDS: tuple[InstField, ...] = (
    InstField("nibble_control", 47, 47),
    InstField("flag_reg", 90, 90),
    InstField("reserved_95_91", 95, 91),
    InstField("jip", 111, 96, When.BRANCH, signed=True),
    InstField("immediate64", 127, 64, When.IMMEDIATE64),  # of dim
    InstField("ternary_flag_reg", 34, 34, When.TERNARY),
    InstField("ternary_src_type", 43, 42, When.TERNARY),
    InstField("ternary_dst_type", 45, 44, When.TERNARY),
    *ternary_reserved((32, 32), (35, 35), (46, 46), (48, 48)),
)

_GONE = frozenset({"reserved_47", "reserved_95_90", "jump_count", "ternary_dst_file", "reserved_ternary_35_34",
                   "reserved_ternary_48_42"})

# --- compacted words --------------------------------------------------------------------------------------------------
CONTROL: tuple[int, ...] = (
    0x00002, 0x04000, 0x04001, 0x04002, 0x04003, 0x04004, 0x04005, 0x04007,
    0x04008, 0x04009, 0x0400D, 0x06000, 0x06001, 0x06002, 0x06003, 0x06004,
    0x06005, 0x06007, 0x06009, 0x0600D, 0x06010, 0x06100, 0x08000, 0x08002,
    0x08004, 0x08100, 0x16000, 0x16010, 0x18000, 0x18100, 0x28000, 0x28100,
)

_DATA_TYPE: tuple[int, ...] = (
    0x08001, 0x08020, 0x08021, 0x08061, 0x080BD, 0x082FD, 0x083A1, 0x083A5,
    0x083BD, 0x08421, 0x08C20, 0x08C21, 0x094A5, 0x09CA4, 0x09CA5, 0x0F3BD,
    0x0F79D, 0x0F7BC, 0x0F7BD, 0x0FFBC, 0x0020C, 0x0803D, 0x080A5, 0x08420,
    0x094A4, 0x09C84, 0x0A509, 0x0DFBD, 0x0FFBD, 0x0BDAC, 0x0A528, 0x0AD28,
)

SUBREG: tuple[int, ...] = (
    0x0000, 0x0001, 0x0008, 0x000F, 0x0010, 0x0080, 0x0100, 0x0180,
    0x0200, 0x0210, 0x0500, 0x1000, 0x1001, 0x1081, 0x1082, 0x1083,
    0x1084, 0x1087, 0x1088, 0x108E, 0x108F, 0x1180, 0x11E8, 0x2000,
    0x2180, 0x3000, 0x3C87, 0x4000, 0x5000, 0x6000, 0x7000, 0x701C,
)

SOURCE: tuple[int, ...] = (
    0x000, 0x002, 0x010, 0x012, 0x018, 0x020, 0x028, 0x048, 0x050, 0x070, 0x078, 0x300, 0x302, 0x308, 0x310, 0x312,
    0x320, 0x328, 0x338, 0x340, 0x342, 0x348, 0x350, 0x360, 0x368, 0x370, 0x371, 0x378, 0x468, 0x469, 0x46A, 0x588,
)

_CHANGES = {
    "control_index": CompactField("control_index", 12, 8, ((23, 8), (31, 31), (90, 89)), "control"),
    "flag_subreg": CompactField("reserved_28", 28, 28, ()),
}
COMPACT_FIELDS = tuple(_CHANGES.get(f.name, f) for f in GEN6.compact_form.fields)
_COMPACT = CompactForm(COMPACT_FIELDS, {"control": CONTROL, "data_type": _DATA_TYPE, "subreg": SUBREG,
                                        "source": SOURCE}, IMMEDIATE)

# --- operands that text does not show ---------------------------------------------------------------------------------
_JUMP_IN_SRC1: HiddenOperands = (Hidden.NULL_D, Hidden.NULL_D, Hidden.IMMEDIATE_W)
_HIDDEN: dict[str, HiddenOperands] = {name: operands for name, operands in gen6.HIDDEN.items()
                                      if name not in ("case", "fork")} | {
    **dict.fromkeys(("else", "endif", "while", "brd", "brc"), _JUMP_IN_SRC1),
    "if": (Hidden.NULL_D, Hidden.SCALAR_NULL_D, Hidden.IMMEDIATE_W),
}

GEN7 = GEN6.derive(
    "gen7", Gen.GEN7, changes=_FIELDS, without=_GONE,
    register_types={**GEN6.register_types, 6: RegType.DF},
    message_descriptor=messages.MESSAGE_DESCRIPTOR, compact_form=_COMPACT,
    ternary_types={0: RegType.F, 1: RegType.D, 2: RegType.UD, 3: RegType.DF},
    hidden=dict.fromkeys(Implied, _HIDDEN),
    architecture_registers={**{kind: count for kind, count in GEN6.architecture_registers.items()
                               if kind is not Arf.MS}, Arf.F: 2},
    mrf_count=0, flag_registers=2, flag_follows_group=False,
)
