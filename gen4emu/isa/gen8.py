"""The encoding of Gen8: the fields move to make room for four-bit types, 16 address subregisters and 32-bit jumps.

Mesa, src/intel/compiler/brw_inst.h, brw_reg_type.c and brw_eu_compact.c; Broadwell PRM vol. 7.
"""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8 import messages
from gen4emu.isa.fields import CompactField, CompactForm, Hidden, HiddenOperands, Implied, InstField, When
from gen4emu.isa.gen6 import IMMEDIATE, ternary_reserved, ternary_source
from gen4emu.isa.gen7 import CONTROL, SOURCE
from gen4emu.isa.gen7 import SUBREG as GEN7_SUBREG
from gen4emu.isa.gen75 import GEN75
from gen4emu.isa.registers import Arf, ImmType, RegType


def _indirect(operand: str, low: int, ninth: int) -> tuple[InstField, ...]:
    """The address of an indirect operand, whose immediate has its top bit elsewhere."""
    return (
        InstField(f"{operand}_addr_imm", low + 8, low, When.ALIGN1_INDIRECT, signed=True, more=((ninth, ninth),)),
        InstField(f"{operand}_addr_imm16", low + 8, low + 4, When.ALIGN16_INDIRECT, signed=True, shift=4,
                  more=((ninth, ninth),)),
        InstField(f"{operand}_addr_subreg", low + 12, low + 9, When.INDIRECT),
    )


_FIELDS: tuple[InstField, ...] = (
    # DW0
    InstField("no_dd_clear", 9, 9),
    InstField("no_dd_check", 10, 10),
    InstField("nibble_control", 11, 11),
    # DW1
    InstField("flag_subreg", 32, 32),
    InstField("flag_reg", 33, 33),
    InstField("mask_control", 34, 34),
    InstField("dst_file", 36, 35),
    InstField("dst_type", 40, 37),
    InstField("src0_file", 42, 41),
    InstField("src0_type", 46, 43),
    InstField("reserved_dst_47", 47, 47, When.DIRECT),
    *_indirect("dst", 48, 47),
    # DW2
    *_indirect("src0", 64, 95),
    InstField("src1_file", 90, 89),
    InstField("src1_type", 94, 91),
    InstField("reserved_src0_95", 95, 95, When.DIRECT),
    # DW3
    *_indirect("src1", 96, 121),
    InstField("reserved_src1_121", 121, 121, When.DIRECT),
    InstField("reserved_127_122", 127, 122),
    InstField("uip", 95, 64, When.BRANCH, signed=True),
    InstField("jip", 127, 96, When.BRANCH, signed=True),
    # three sources
    *ternary_source(0, 64, 37),
    *ternary_source(1, 85, 39),
    *ternary_source(2, 106, 41),
    InstField("ternary_src_type", 45, 43, When.TERNARY),
    InstField("ternary_dst_type", 48, 46, When.TERNARY),
    *ternary_reserved((36, 35)),
)

_GONE = frozenset({"reserved_95_91", "reserved_127_121", "ternary_flag_reg", "ternary_flag_subreg",
                   "reserved_ternary_32_32", "reserved_ternary_35_35", "reserved_ternary_46_46",
                   "reserved_ternary_48_48"})

# --- compacted words --------------------------------------------------------------------------------------------------
_DATA_TYPE: tuple[int, ...] = (
    0x040001, 0x040040, 0x040041, 0x0400C1, 0x04015D, 0x0405DD, 0x040741, 0x040745,
    0x04075D, 0x041041, 0x043040, 0x043041, 0x045145, 0x047144, 0x047145, 0x05C75D,
    0x05D71D, 0x05D75C, 0x05D75D, 0x05F75C, 0x00040C, 0x04005D, 0x040145, 0x041040,
    0x045144, 0x047104, 0x049209, 0x05775D, 0x05F75D, 0x04F34C, 0x049248, 0x04B248,
)
_SUBREG = tuple(0x0280 if index == 10 else value for index, value in enumerate(GEN7_SUBREG))

_CHANGES = {
    "control_index": CompactField("control_index", 12, 8, ((8, 8), (34, 34), (10, 9), (23, 12), (33, 31)), "control"),
    "data_type_index": CompactField("data_type_index", 17, 13, ((46, 35), (94, 89), (63, 61)), "data_type"),
}
_COMPACT = CompactForm(tuple(_CHANGES.get(f.name, f) for f in GEN75.compact_form.fields),
                       {"control": CONTROL, "data_type": _DATA_TYPE, "subreg": _SUBREG, "source": SOURCE}, IMMEDIATE)


def ternary_compact_form(control: tuple[tuple[int, int], ...], source: tuple[tuple[int, int], ...]) -> CompactForm:
    """Compacted words of instructions with three sources; `control` and `source` are what the two tables fill."""
    return CompactForm((
        CompactField("opcode", 6, 0, ((6, 0),)),
        CompactField("reserved_7", 7, 7, ()),
        CompactField("control_index", 9, 8, control, "control"),
        CompactField("source_index", 11, 10, source, "source"),
        CompactField("dst_reg_nr", 18, 12, ((62, 56),)),
        CompactField("reserved_27_19", 27, 19, ()),
        CompactField("src0_replicate", 28, 28, ((64, 64),)),
        CompactField("compact_control", 29, 29, ()),
        CompactField("debug_control", 30, 30, ((30, 30),)),
        CompactField("saturate", 31, 31, ((31, 31),)),
        CompactField("src1_replicate", 32, 32, ((85, 85),)),
        CompactField("src2_replicate", 33, 33, ((106, 106),)),
        CompactField("src0_subreg_nr", 36, 34, ((75, 73),)),
        CompactField("src1_subreg_nr", 39, 37, ((96, 94),)),
        CompactField("src2_subreg_nr", 42, 40, ((117, 115),)),
        CompactField("src0_reg_nr", 49, 43, ((82, 76),)),
        CompactField("src1_reg_nr", 56, 50, ((103, 97),)),
        CompactField("src2_reg_nr", 63, 57, ((124, 118),)),
    ), {"control": (0x0806001, 0x0006001, 0x0008001, 0x0008021),
        "source": (0x007272720F000, 0x007272720F002, 0x007272720F008, 0x007272720F020)})


TERNARY_SOURCE_PLACES = ((55, 37), (72, 65), (93, 86), (114, 107), (83, 83))

# --- operands that text does not show ---------------------------------------------------------------------------------
_JUMP: HiddenOperands = (Hidden.NULL_D, Hidden.IMMEDIATE_D, None)
_HIDDEN: dict[str, HiddenOperands] = {
    **dict.fromkeys(("if", "else", "while", "break", "halt", "brd", "brc", "goto", "join"), _JUMP),
    "endif": (None, Hidden.IMMEDIATE_D, None),
    "cont": (Hidden.IP, Hidden.IMMEDIATE_D, None),
    "jmpi": (Hidden.IP, Hidden.IP, None),
    "wait": (None, Hidden.DESTINATION, Hidden.NULL_F),
}

GEN8 = GEN75.derive(
    "gen8", Gen.GEN8, changes=_FIELDS, without=_GONE,
    register_types={**GEN75.register_types, 8: RegType.UQ, 9: RegType.Q, 10: RegType.HF},
    immediate_types={**GEN75.immediate_types, 8: ImmType.UQ, 9: ImmType.Q, 10: ImmType.DF, 11: ImmType.HF},
    message_descriptor=messages.MESSAGE_DESCRIPTOR, compact_form=_COMPACT,
    ternary_types={**GEN75.ternary_types, 4: RegType.HF},
    ternary_compact_form=ternary_compact_form(((28, 8), (34, 32)),
                                              (*TERNARY_SOURCE_PLACES, (104, 104), (125, 125))),
    hidden=dict.fromkeys(Implied, _HIDDEN),
    architecture_registers={**GEN75.architecture_registers, Arf.ACC: 10},
    address_subregs=16, jump_unit=1, negation_complements=True,
)
