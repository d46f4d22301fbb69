"""The encoding of Gen9: Gen8's, with split sends and HF among the three sources.

Mesa, src/intel/compiler/brw_inst.h and brw_eu_compact.c; Skylake PRM vol. 7.
"""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen9 import messages
from gen4emu.isa.fields import InstField, When
from gen4emu.isa.gen8 import GEN8, TERNARY_SOURCE_PLACES, ternary_compact_form


def _split(name: str, hi: int, lo: int, when: When = When.SPLIT_SEND, *, signed: bool = False, shift: int = 0,
           more: tuple[tuple[int, int], ...] = ()) -> InstField:
    return InstField(f"split_{name}", hi, lo, when, signed, shift, more)


def _ternary_subreg(index: int, high: int, low: int) -> InstField:
    """A subregister in units of two bytes, whose low bit is apart from the others."""
    return InstField(f"ternary_src{index}_subreg_nr", low, low, When.TERNARY, shift=1, more=((high + 2, high),))


_DIRECT, _INDIRECT = When.SPLIT_SEND_DIRECT, When.SPLIT_SEND_INDIRECT

_FIELDS: tuple[InstField, ...] = (
    _ternary_subreg(0, 73, 84),
    _ternary_subreg(1, 94, 105),
    _ternary_subreg(2, 115, 126),
    InstField("reserved_ternary_127_127", 127, 127, When.TERNARY),
    InstField("ternary_src2_half", 35, 35, When.TERNARY),
    InstField("ternary_src1_half", 36, 36, When.TERNARY),
    # split sends
    InstField("sfid", 27, 24, When.SEND),
    _split("dst_file", 35, 35),
    _split("src1_file", 36, 36),
    InstField("reserved_split_43_37", 43, 37, When.SPLIT_SEND),
    _split("src1_reg_nr", 51, 44),
    _split("dst_subreg16", 52, 52, _DIRECT, shift=4),
    _split("dst_reg_nr", 60, 53, _DIRECT),
    _split("dst_addr_imm16", 56, 52, _INDIRECT, signed=True, shift=4, more=((62, 62),)),
    _split("dst_addr_subreg", 60, 57, _INDIRECT),
    _split("ex_desc_in_register", 61, 61),
    InstField("reserved_split_62", 62, 62, _DIRECT),
    _split("dst_addr_mode", 63, 63),
    _split("ex_desc_mlen", 67, 64, shift=6),
    _split("src0_subreg16", 68, 68, _DIRECT, shift=4),
    _split("src0_reg_nr", 76, 69, _DIRECT),
    _split("src0_addr_imm16", 72, 68, _INDIRECT, signed=True, shift=4, more=((78, 78),)),
    _split("src0_addr_subreg", 76, 73, _INDIRECT),
    _split("desc_in_register", 77, 77),
    InstField("reserved_split_78", 78, 78, _DIRECT),
    _split("src0_addr_mode", 79, 79),
    _split("ex_desc_function", 95, 80, shift=16),
    _split("ex_desc_subreg", 82, 80, When.IMMEDIATE),  # in place of the immediate, if it is in a register
    _split("descriptor", 126, 96),
    _split("end_of_thread", 127, 127),
)

_GONE = frozenset({"reserved_ternary_36_35", "reserved_ternary_84_84", "reserved_ternary_105_105",
                   "reserved_ternary_127_126"})

GEN9 = GEN8.derive(
    "gen9", Gen.GEN9, changes=_FIELDS, without=_GONE, message_descriptor=messages.MESSAGE_DESCRIPTOR,
    ternary_compact_form=ternary_compact_form(((28, 8), (34, 32), (36, 35)),
                                              (*TERNARY_SOURCE_PLACES, (84, 84), (105, 104), (126, 125))),
)
