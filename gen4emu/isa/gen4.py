"""The encoding of Gen4 and Gen4.5 (Mesa, src/intel/compiler/brw_inst.h and brw_eu_compact.c; 965 PRM vol. 4)."""

from __future__ import annotations

from gen4emu.hw.fields import Field, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, SharedFunction
from gen4emu.isa.fields import (
    CompactField,
    CompactForm,
    Encoding,
    Hidden,
    HiddenOperands,
    Implied,
    InstField,
    When,
    source_fields,
)
from gen4emu.isa.registers import Arf, ImmType, RegType


def _descriptor_name(f: Field) -> str:
    return f"reserved_{96 + f.hi}_{96 + f.lo}" if isinstance(f, Mbz) else f.name


FIELDS: tuple[InstField, ...] = (
    # DW0
    InstField("opcode", 6, 0),
    InstField("reserved_7", 7, 7),
    InstField("access_mode", 8, 8),
    InstField("mask_control", 9, 9),
    InstField("no_dd_clear", 10, 10),
    InstField("no_dd_check", 11, 11),
    InstField("compression", 13, 12),
    InstField("thread_control", 15, 14),
    InstField("predicate_control", 19, 16),
    InstField("predicate_inverse", 20, 20),
    InstField("exec_size", 23, 21),
    InstField("cond_modifier", 27, 24),
    InstField("base_mrf", 27, 24, When.SEND),
    InstField("mask_control_ex", 28, 28),
    InstField("compact_control", 29, 29),
    InstField("debug_control", 30, 30),
    InstField("saturate", 31, 31),
    # DW1
    InstField("dst_file", 33, 32),
    InstField("dst_type", 36, 34),
    InstField("src0_file", 38, 37),
    InstField("src0_type", 41, 39),
    InstField("src1_file", 43, 42),
    InstField("src1_type", 46, 44),
    InstField("reserved_47", 47, 47),
    InstField("dst_subreg_nr", 52, 48, When.ALIGN1_DIRECT),
    InstField("dst_addr_imm", 57, 48, When.ALIGN1_INDIRECT, signed=True),
    InstField("dst_writemask", 51, 48, When.ALIGN16),
    InstField("dst_subreg16", 52, 52, When.ALIGN16_DIRECT, shift=4),
    InstField("dst_addr_imm16", 57, 52, When.ALIGN16_INDIRECT, signed=True, shift=4),
    InstField("dst_reg_nr", 60, 53, When.DIRECT),
    InstField("dst_addr_subreg", 60, 58, When.INDIRECT),
    InstField("dst_hstride", 62, 61),
    InstField("dst_addr_mode", 63, 63),
    # DW2
    *source_fields("src0", 64),
    InstField("flag_subreg", 89, 89),
    InstField("reserved_95_90", 95, 90),
    # DW3
    *source_fields("src1", 96),
    InstField("reserved_127_121", 127, 121),
    InstField("immediate", 127, 96, When.IMMEDIATE),
    InstField("jump_count", 111, 96, When.BRANCH, signed=True),
    InstField("pop_count", 115, 112, When.BRANCH),
    InstField("reserved_127_116", 127, 116, When.BRANCH),
    # the message descriptor, whose layout is in hw/gen4/messages.py
    *(InstField(_descriptor_name(f), 96 + f.hi, 96 + f.lo, When.SEND) for f in MESSAGE_DESCRIPTOR.all_fields),
)

# --- compacted words --------------------------------------------------------------------------------------------------
CONTROL: tuple[int, ...] = (
    0x00000, 0x08000, 0x06000, 0x00002, 0x04000, 0x02000, 0x08020, 0x08100,
    0x0A020, 0x00102, 0x18000, 0x01102, 0x09100, 0x00100, 0x18020, 0x01100,
    0x16000, 0x1A020, 0x06100, 0x04100, 0x08008, 0x08004, 0x07800, 0x05600,
    0x06010, 0x02100, 0x08024, 0x08028, 0x06006, 0x0000A, 0x0A028, 0x0A024,
)

DATA_TYPE: tuple[int, ...] = (
    0x08021, 0x0B5AD, 0x08231, 0x0F7BD, 0x0B5AC, 0x081AD, 0x08020, 0x145B1,
    0x0C62D, 0x08022, 0x08236, 0x10231, 0x08232, 0x18232, 0x0F7BC, 0x08128,
    0x14631, 0x0A529, 0x08229, 0x10236, 0x28231, 0x0B62D, 0x08109, 0x0B62C,
    0x34631, 0x083BD, 0x30231, 0x1812A, 0x28229, 0x0B58C, 0x081A1, 0x0A508,
)

# (destination, source 0, source 1) in bytes
_SUBREG_BYTES: tuple[tuple[int, int, int], ...] = (
    (0, 0, 0), (0, 4, 0), (0, 16, 0), (0, 0, 2), (0, 1, 0), (0, 0, 16), (16, 0, 0), (0, 0, 6),
    (0, 0, 5), (0, 8, 0), (0, 0, 4), (8, 0, 0), (0, 2, 0), (1, 0, 0), (0, 0, 1), (0, 5, 0),
    (7, 0, 0), (0, 17, 0), (0, 0, 12), (0, 12, 0), (2, 0, 0), (4, 0, 0), (0, 3, 0), (2, 0, 2),
    (6, 6, 7), (8, 8, 7), (6, 6, 3), (24, 16, 0), (4, 4, 3), (6, 0, 6), (6, 4, 0), (16, 17, 0),
)
SUBREG: tuple[int, ...] = tuple(dst | src0 << 5 | src1 << 10 for dst, src0, src1 in _SUBREG_BYTES)

SOURCE: tuple[int, ...] = (
    0x000, 0x468, 0x588, 0x690, 0x348, 0x58A, 0x570, 0x678, 0x228, 0x028, 0x450, 0xF6C, 0x58C, 0x46C, 0x694, 0x44C,
    0x328, 0x002, 0xF4C, 0x668, 0x548, 0x004, 0x02C, 0x46A, 0x038, 0x558, 0x120, 0x580, 0x404, 0x438, 0x160, 0xF74,
)

COMPACT_FIELDS: tuple[CompactField, ...] = (
    CompactField("opcode", 6, 0, ((6, 0),)),
    CompactField("debug_control", 7, 7, ((30, 30),)),
    CompactField("control_index", 12, 8, ((23, 8), (31, 31)), "control"),
    CompactField("data_type_index", 17, 13, ((46, 32), (63, 61)), "data_type"),
    CompactField("subreg_index", 22, 18, ((52, 48), (68, 64), (100, 96)), "subreg"),
    CompactField("mask_control_ex", 23, 23, ((28, 28),)),
    CompactField("cond_modifier", 27, 24, ((27, 24),)),
    CompactField("flag_subreg", 28, 28, ((89, 89),)),
    CompactField("compact_control", 29, 29, ()),
    CompactField("src0_index", 34, 30, ((88, 77),), "source"),
    CompactField("src1_index", 39, 35, ((120, 109),), "source"),
    CompactField("dst_reg_nr", 47, 40, ((60, 53),)),
    CompactField("src0_reg_nr", 55, 48, ((76, 69),)),
    CompactField("src1_reg_nr", 63, 56, ((108, 101),)),
)

COMPACT = CompactForm(COMPACT_FIELDS,
                      {"control": CONTROL, "data_type": DATA_TYPE, "subreg": SUBREG, "source": SOURCE})

# --- operands that text does not show ---------------------------------------------------------------------------------
_BRANCHES = ("if", "iff", "else", "while", "break", "cont", "halt")
_MESA: dict[str, HiddenOperands] = {
    **dict.fromkeys(_BRANCHES, (Hidden.IP, Hidden.IP, Hidden.IMMEDIATE_D)),
    "endif": (Hidden.NULL_D, Hidden.NULL_D, Hidden.IMMEDIATE_D),
    "do": (Hidden.NULL_F, Hidden.NULL_F, Hidden.NULL_F),
    "jmpi": (Hidden.IP, Hidden.IP, None),
    "wait": (Hidden.SOURCE, None, Hidden.NULL_F),
}
_IGT: dict[str, HiddenOperands] = {
    **dict.fromkeys(_BRANCHES, (Hidden.IP, Hidden.IP_IGT, Hidden.IMMEDIATE_D)),
    "endif": (None, None, Hidden.IMMEDIATE_D),
    "jmpi": (Hidden.IP, Hidden.IP_IGT, None),
    "wait": (Hidden.STRIDE_1, None, Hidden.STRIDE_1),
}

SHARED_FUNCTIONS: dict[int, str] = {
    SharedFunction.NULL: "null", SharedFunction.EXTENDED_MATH: "math", SharedFunction.SAMPLER: "sampler",
    SharedFunction.MESSAGE_GATEWAY: "gateway", SharedFunction.DATA_PORT_READ: "read",
    SharedFunction.DATA_PORT_WRITE: "write", SharedFunction.URB: "urb", SharedFunction.THREAD_SPAWNER: "thread_spawner",
}

GEN4 = Encoding(
    "gen4", Gen.ALL4, FIELDS,
    register_types={int(t): t for t in (RegType.UD, RegType.D, RegType.UW, RegType.W, RegType.UB, RegType.B,
                                        RegType.F)},
    immediate_types={int(t): t for t in (ImmType.UD, ImmType.D, ImmType.UW, ImmType.W, ImmType.UB, ImmType.VF,
                                         ImmType.V, ImmType.F)},
    message_descriptor=MESSAGE_DESCRIPTOR, shared_functions=SHARED_FUNCTIONS, compact_form=COMPACT,
    hidden={Implied.MESA: _MESA, Implied.IGT: _IGT},
    architecture_registers={Arf.NULL: 1, Arf.A: 1, Arf.ACC: 2, Arf.F: 1, Arf.MASK: 1, Arf.MS: 2, Arf.MSD: 1,
                            Arf.SR: 1, Arf.CR: 1, Arf.N: 2, Arf.IP: 1},
    mrf_count=16, address_subregs=8, flag_registers=1, jump_unit=16, jmpi_unit=16, compacted_jump_size=16,
)
