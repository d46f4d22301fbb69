"""The table of fast handlers (native/eu/fast/table.c): which handler an instruction gets, or why it gets none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble

NATIVE = Path(__file__).parents[2] / "native"
SOURCES = ("eu/fast/table.c", "eu/fast/prepare.c", "eu/decode_gen4.c", "eu/decode.c", "eu/decode_gen7.c",
           "eu/decode_gen9.c")

# Prints the name of each instruction's handler, or the reason why there is none.
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include "core/model.h"
#include "eu/fast/fast.h"

enum g4_handler g4_handler_of(const struct g4_op *op) { (void)op; return G4_HANDLER_GENERAL; }
bool g4_is_dot_integer(const struct g4_op *op) { (void)op; return false; }

#define NAME(name) #name,
static const char *const names[G4_TABLES][G4_FAST_ROOM] = {
    [G4_TABLE_FLOAT] = {G4_FAST_FLOAT(NAME)}, [G4_TABLE_INT] = {G4_FAST_INT(NAME)},
    [G4_TABLE_DOUBLE] = {G4_FAST_DOUBLE(NAME)}, [G4_TABLE_QUAD] = {G4_FAST_QUAD(NAME)}};

static g4_decode_instruction_fn *decoder_of(uint32_t gen)
{
    return gen & GEN9 ? g4_decode_gen9 : gen & GEN75 ? g4_decode_gen75 : gen & GEN7 ? g4_decode_gen7 : g4_decode_gen4;
}

int main(void) {
    uint32_t in[6]; /* generation, whether the accumulator is read later, instruction */
    while (fread(in, sizeof in, 1, stdin) == 1) {
        struct g4_op op;
        const struct g4_chip chip = {.gen = in[0]};
        const bool is_gen4 = in[0] & G4_GEN_GEN4;
        const struct g4_model model = {
            .chip = &chip, .layout_gen = in[0], .quirks = {.cmp_converts_to_destination_type = is_gen4}};
        decoder_of(in[0])(&op, in + 2, &model, 0, 16);
        op.acc_write = op.acc_write && in[1];
        const char *const reason = g4_fast_select(&op, &model.quirks);
        const unsigned handler = op.handler == G4_HANDLER_INDIRECT ? op.ordinary : op.handler;
        const char *const lanes = names[handler >> 8][handler & 255];
        const char *const name = handler == G4_HANDLER_DWORDS ? "dwords" : lanes ? lanes : "-";
        puts(reason ? reason : name);
    }
    return 0;
}
"""

BW, EL, IVB, HSW, KBL = Gen.BW, Gen.EL, Gen.IVB, Gen.HSW, Gen.KBL

# generation, instruction, handler
HANDLERS = [
    (EL, "mov(8) g20<1>F g22<8,8,1>F { align1 };", "MOV_P"),
    (EL, "mov(8) g20<1>F g22<0,1,0>F { align1 };", "MOV_S"),
    (EL, "mov(8) g20<1>F 1.0F { align1 };", "MOV_I"),
    (EL, "mov(8) g20<1>F -g22<8,8,1>F { align1 };", "MOVF_P"),
    (EL, "mov.sat(8) g20<1>F g22<8,8,1>F { align1 };", "MOVF_P"),
    (EL, "mov(8) g20<1>D g22<8,8,1>F { align1 };", "MOVF_P"),
    (EL, "mov(8) g20<1>F g22<8,8,1>UD { align1 };", "MOV_P"),
    (EL, "mov.sat(8) g20<2>UB g22<8,8,1>W { align1 };", "MOV_P"),
    (EL, "(+f0.0) sel(8) g20<1>F g22<8,8,1>F g23<0,1,0>F { align1 };", "SEL_PS"),
    (EL, "(+f0.0) sel(8) g20<1>F -g22<8,8,1>F -g23<8,8,1>F { align1 };", "SELF_P"),
    (EL, "(+f0.0) sel(8) g20<1>F g22<8,8,1>F -g23<8,8,1>F { align1 };", "SELF_MIXED"),
    (EL, "sel.ge(8) g20<1>F g22<8,8,1>F (abs)g23<8,8,1>F { align1 };", "SELCF_MIXED"),
    (EL, "sel.l(8) g20<1>F -g22<8,8,1>F 1.0F { align1 };", "SELCF_MIXED"),
    (EL, "(+f0.0) sel(8) g20<1>D g22<0,1,0>D 5D { align1 };", "SEL_SI"),
    (EL, "add(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "ADDF_DIRECT_PP"),
    (EL, "add(8) g20<1>F g22<0,1,0>F g23<8,8,1>F { align1 };", "ADDF_DIRECT_PS"),
    (EL, "add(8) g20<1>F g22<8,8,1>F -g23<0,1,0>F { align1 };", "SUBF_DIRECT_PS"),
    (EL, "add(8) g20<1>F -g22<8,8,1>F 1.0F { align1 };", "RSUBF_DIRECT_PI"),
    (EL, "add(8) g20<1>F -g22<0,1,0>F g23<8,8,1>F { align1 };", "SUBF_DIRECT_PS"),
    (EL, "add(8) g20<1>F -g22<8,8,1>F -g23<8,8,1>F { align1 };", "ADDF_PP"),
    (EL, "add.sat(8) g20<1>F g22<0,1,0>F g23<0,1,0>F { align1 };", "ADDF_SS"),
    (EL, "add(8) g20<1>F g22<8,8,1>F (abs)g23<8,8,1>F { align1 };", "ADDF_PP"),
    (EL, "mul(8) g20<1>F -g22<8,8,1>F g23<8,8,1>F { align1 };", "MULNF_DIRECT_PP"),
    (EL, "mul(8) g20<1>F -g22<8,8,1>F -g23<8,8,1>F { align1 };", "MULF_DIRECT_PP"),
    (EL, "mul(8) g20<1>D g22<8,8,1>F g23<8,8,1>F { align1 };", "MULF_PP"),
    (EL, "frc(8) g20<1>F g22<8,8,1>F { align1 };", "FRC_P"),
    (EL, "rndd(8) g20<1>F g22<8,8,1>F { align1 };", "RNDD_P"),
    (EL, "rndu(8) g20<1>F g22<8,8,1>F { align1 };", "RNDU_P"),
    (EL, "rnde(8) g20<1>F g22<8,8,1>F { align1 };", "RNDD_P"),
    (EL, "rnde.r(8) g20<1>F g22<8,8,1>F { align1 };", "RNDE_R"),
    (EL, "rndz.r(8) g20<1>F g22<8,8,1>F { align1 };", "RNDZ_R"),
    (EL, "mac(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "MAC_P"),
    (EL, "line(8) g20<1>F g2<0,1,0>F g22<8,8,1>F { align1 };", "LINE"),
    (EL, "pln(8) g20<1>F g2<0,1,0>F g22<8,8,1>F { align1 };", "PLN"),
    (EL, "cmp.l.f0.0(8) null<1>D g22<8,8,1>F g23<8,8,1>F { align1 };", "CMPF_PP"),
    (BW, "cmp.l.f0.0(8) null<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "CMPF_PP"),
    (BW, "cmp.l.f0.0(8) null<1>F g22<8,8,1>D g23<8,8,1>D { align1 };", "CMPF_PP"),
    (EL, "cmpn.l.f0.0(8) null<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "CMPN_P"),
    (EL, "cmp.l.f0.0(8) null<1>D g22<8,8,1>D 5D { align1 };", "CMP_PI"),
    (EL, "cmp.l.f0.0(8) null<1>UD g22<8,8,1>UD g23<8,8,1>UD { align1 };", "CMP_PP"),
    (EL, "cmp.l.f0.0(8) null<1>D g22<8,8,1>D 5UD { align1 };", "CMP_PI"),
    (EL, "not(8) g20<1>UD g22<8,8,1>UD { align1 };", "NOT_P"),
    (EL, "and.nz.f0.0(8) null<1>UD g22<8,8,1>UD 1UD { align1 };", "AND_PI"),
    (EL, "or(8) g20<1>UW g22<8,8,1>UW g23<8,8,1>UW { align1 };", "OR_PP"),
    (EL, "xor.l.f0.0(8) g20<1>D g22<8,8,1>D g23<8,8,1>D { align1 };", "XOR_PP"),
    (EL, "shl(8) g20<1>UD g22<8,8,1>UD 4UD { align1 };", "SHL_PI"),
    (EL, "shl.l.f0.0(8) g20<1>D g22<8,8,1>D 4UD { align1 };", "SHL_PI"),
    (EL, "shr(8) g20<1>UD g22<8,8,1>UD 4UD { align1 };", "SHR_PI"),
    (EL, "shr(8) g20<1>D g22<8,8,1>D 4UD { align1 };", "ASR_PI"),
    (EL, "asr(8) g20<1>D g22<8,8,1>D 4UD { align1 };", "ASR_PI"),
    (EL, "asr(8) g20<1>UD g22<8,8,1>UD 4UD { align1 };", "SHR_PI"),
    (EL, "avg(8) g20<1>W g22<8,8,1>W g23<8,8,1>W { align1 };", "AVG_P"),
    (EL, "mul(8) g20<1>D g22<8,8,1>D g23<8,8,1>D { align1 };", "MULD_P"),
    (EL, "mul(8) g20<1>D g22<8,8,1>UW g23<8,8,1>UW { align1 };", "MUL_PP"),
    (EL, "mul.sat(8) g20<1>W g22<8,8,1>W g23<8,8,1>W { align1 };", "MUL_PP"),
    (EL, "mul(8) acc0<1>D g22<8,8,1>D g23<8,8,1>D { align1 };", "dwords"),
    (EL, "mach(8) g20<1>D g22<8,8,1>D -g23<8,8,1>D { align1 };", "dwords"),
    (HSW, "mul(8) acc0<1>UD g22<4>.xyzwUD g23<0>.xUD { align16 1Q };", "dwords"),
    (HSW, "mach(8) g20<1>.xyUD g22<4>UD g23<4>UD { align16 1Q AccWrEnable };", "dwords"),
    (HSW, "mach(8) null<1>UD g22<8,8,1>UD 0xaaaaaaabUD { align1 2Q AccWrEnable };", "dwords"),
    (IVB, "math intdiv(8) g20<1>D g22<8,8,1>D g23<0,1,0>D { align1 1Q };", "DIVIDE_P"),
    (EL, "add(1) ip<1>UD ip<0,1,0>UD 64D { align1 nomask };", "IPADD"),
    (EL, "mov(8) g20<1>F g[a0]<8,8,1>F { align1 };", "MOV_P"),
    (EL, "dp4(8) g20<1>.xF g22<4>F g3<0>F { align16 };", "DP4_P"),
    (EL, "dph(8) g20<1>.xF g22<4>F g3<0>F { align16 };", "DPH_P"),
    (EL, "dp3(8) g20<1>.xF g22<4>F g3<0>F { align16 };", "DP3_P"),
    (EL, "dp2(8) g20<1>.xF g22<4>F g3<0>F { align16 };", "DP2_P"),
    (HSW, "add(8) g20<1>DF g22<4,4,1>DF -g24<0,1,0>DF { align1 1Q };", "ADD_Q"),
    (HSW, "mul(8) g20<1>.xDF g22<0>.xyxyDF g24<0>.zwzwDF { align16 1Q };", "MUL_Q"),
    (IVB, "mul(8) g20<1>DF g22<4,4,1>DF g24<4,4,1>DF { align1 1Q };", "MUL_Q"),
    (HSW, "mad(8) g20<1>DF g22<4,4,1>DF g24<4,4,1>DF -g26<4,4,1>DF { align16 2Q };", "MAD_Q"),
    (HSW, "cmp.z.f0.0(8) g20<1>DF (abs)g6<0,1,0>DF g22<0,1,0>DF { align1 1Q };", "CMP_Q"),
    (HSW, "cmp.nz.f0.0(8) null<1>DF g6<0,1,0>DF g22<0,1,0>DF { align1 1Q switch };", "CMP_Q"),
    (HSW, "(+f0.0) sel(8) g20<1>DF g22<4,4,1>DF -g24<4,4,1>DF { align1 1Q };", "SEL_Q"),
    (HSW, "mov(8) g20<1>DF g6<0,1,0>DF { align1 2Q };", "COPY_64"),
    (HSW, "mov(8) g20<1>DF -g6<0,1,0>DF { align1 2Q };", "MOV_Q"),
    (HSW, "mov(8) g20<2>F g22<4,4,1>DF { align1 1Q };", "MOV_Q"),
    (HSW, "mov(4) g20<1>DF g22.4<4,4,1>F { align1 2N };", "MOV_Q"),
    (HSW, "mov(8) g20<2>D g22<4,4,1>DF { align1 1Q };", "MOV_Q"),
    (HSW, "mov(4) g20<2>UD g6<0,1,0>UD { align1 2N };", "COPY_32"),
    (KBL, "add(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 1Q };", "ADDF_DIRECT_PP"),
    (KBL, "mov(8) g20<1>DF -g6<0,1,0>DF { align1 2Q };", "MOV_Q"),
    (KBL, "add(8) g20<1>D g22<8,8,1>D 5D { align1 1Q };", "ADD_PI"),
    (KBL, "mul(16) g20<1>D g22<8,8,1>D g24<0,1,0>D { align1 1H };", "MUL_SP"),
    (KBL, "mul(8) g20<1>Q g22<8,8,1>D g24<8,8,1>UD { align1 1Q };", "MUL_L"),
    (KBL, "mul(8) acc0<1>UD g22<8,8,1>UD 0x8ccdUW { align1 WE_all 1Q };", "dwords"),
    (KBL, "mov(8) g20<2>D g22<8,8,1>D { align1 3Q };", "COPY_32"),
    (KBL, "mov(8) g20<1>Q g22<8,8,1>UD { align1 4Q };", "MOV_L"),
    (KBL, "mov(1) g20<1>Q 0xf6aac66680000000Q { align1 WE_all 1N };", "MOV_L"),
    (KBL, "add(8) g20<1>Q g22<0,1,0>Q g24<8,8,1>D { align1 1Q };", "ADD_L"),
    (KBL, "shr(8) g20<1>Q g22<4,4,1>UQ 33W { align1 1Q };", "SHR_L"),
    (KBL, "shr(8) g20<1>Q g22<4,4,1>Q g24<8,8,1>UD { align1 1Q };", "ASR_L"),
    (KBL, "shl(8) g20<1>Q g22<8,8,1>D 2W { align1 1Q };", "SHL_L"),
    (KBL, "and(8) g20<1>Q g22<4,4,1>Q -g24<4,4,1>Q { align1 1Q };", "AND_L"),
    (KBL, "cmp.l.f0.0(8) null<1>D g22<4,4,1>UQ g24<4,4,1>UQ { align1 1Q };", "CMP_L"),
    (KBL, "(+f0.0) sel(8) g20<1>Q g22<4,4,1>Q g24<4,4,1>Q { align1 2Q };", "SEL_L"),
    (KBL, "and(8) g20<1>D g22<8,8,1>D -g24<8,8,1>D { align1 1Q };", "AND_PP"),
]

# generation, instruction, a part of the reason
GENERAL = [
    (EL, "mov.l.f0.0(8) g20<1>F g22<8,8,1>F { align1 };", "a condition tests the flushed float"),
    (EL, "mov.sat(8) g20<1>D g22<8,8,1>F { align1 };", "floats stored as floats"),
    (EL, "mov.l.f0.0(8) g20<1>UD g22<8,8,1>UD { align1 };", "negative numbers from 2^31 on"),
    (EL, "mov.sat.l.f0.0(8) g20<1>W g22<8,8,1>D { align1 };", "flags, saturation or conversion"),
    (EL, "(+f0.0) sel(8) g20<1>D g22<8,8,1>D -g23<8,8,1>F { align1 };", "copied as an integer"),
    (EL, "(+f0.0) sel.sat(8) g20<1>W g22<8,8,1>W g23<8,8,1>W { align1 };", "saturated"),
    (EL, "add.sat(8) g20<1>D g22<8,8,1>F g23<8,8,1>F { align1 };", "floats stored as floats"),
    (EL, "add.sat(8) g20<1>UD g22<8,8,1>UD g23<8,8,1>UD { align1 };", "low bits"),
    (EL, "mul.sat(8) g20<1>UW g22<8,8,1>UW g23<8,8,1>UW { align1 };", "low bits"),
    (EL, "mac(8) g20<1>D g22<8,8,1>W g23<8,8,1>W { align1 };", "64 bits"),
    (EL, "line(8) g20<1>F g2<8,8,1>F g22<8,8,1>F { align1 };", "not one float of each thread"),
    (EL, "pln(8) g20<1>F g2<0,1,0>F g22<0,1,0>F { align1 };", "not two registers"),
    (EL, "dp4(2) g20<1>F g22<8,8,1>F g3<8,8,1>F { align1 };", "group of four"),
    (BW, "cmp.l.f0.0(8) null<1>D g22<8,8,1>F g23<8,8,1>F { align1 };", "both sides become integers"),
    (EL, "cmp.l.f0.0(8) null<1>D g22<8,8,1>D g23<8,8,1>UD { align1 };", "no 32 bits hold both"),
    (EL, "and.l.f0.0(8) g20<1>UD g22<8,8,1>UD g23<8,8,1>UD { align1 };", "low bits"),
    (EL, "shr.l.f0.0(8) g20<1>UD g22<8,8,1>UD 4UD { align1 };", "low bits"),
    (EL, "avg(8) g20<1>UD g22<8,8,1>UD g23<8,8,1>UD { align1 };", "low bits"),
    (EL, "lzd(8) g20<1>UD g22<8,8,1>UD { align1 };", "no fast handler has this opcode"),
    (EL, "add(8) acc0<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "an accumulator operand"),
    (EL, "mul(8) acc0<1>D g22<8,8,1>W g23<8,8,1>D { align1 };", "an accumulator operand"),
    (EL, "mach.nz.f0.0(8) g20<1>D g22<8,8,1>D g23<8,8,1>D { align1 };", "an accumulator operand"),
    (EL, "mach(8) g20<1>UD g22<8,8,1>UD -g23<8,8,1>UD { align1 };", "an accumulator operand"),
    (EL, "add(8) g20<1>D g22<8,8,1>D (abs)g23<8,8,1>D { align1 };", "no exact form in lanes"),
    (EL, "mov(1) ip<1>UD g22<0,1,0>UD { align1 nomask };", "jump to different places"),
    (HSW, "math intdivmod(8) g20<1>D g22<8,8,1>D g24<8,8,1>D { align1 1Q };", "one result"),
    (KBL, "math intdivmod(8) g20<1>F g22<8,8,1>F g24<8,8,1>F { align1 1Q };", "or there are two"),
    (HSW, "mov.nz.f0.0(8) g20<2>D g22<4,4,1>DF { align1 1Q };", "doubles"),
    (HSW, "rndd(8) g20<1>DF g22<4,4,1>DF { align1 1Q };", "doubles"),
    (KBL, "add.nz.f0.0(8) g20<1>Q g22<4,4,1>Q g24<4,4,1>Q { align1 1Q };", "64-bit integers"),
    (KBL, "add.sat(8) g20<1>Q g22<4,4,1>Q g24<4,4,1>Q { align1 1Q };", "64-bit integers"),
    (KBL, "cmp.l.f0.0(8) null<1>D g22<4,4,1>UQ g24<4,4,1>Q { align1 1Q };", "64-bit integers"),
    (KBL, "add(8) g20<1>HF g22<8,8,1>HF g24<8,8,1>HF { align1 1Q };", "half floats"),
    (KBL, "mul.nz.f0.0(8) g20<1>D g22<8,8,1>D g24<8,8,1>D { align1 1Q };", "low bits"),
]

# instruction whose implicit accumulator write is read later, its handler or a part of the reason
ACCUMULATING = [
    ("add(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "ADDA_P"),
    ("mul(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "MULA_P"),
    ("line(8) null<1>F g2<0,1,0>F g22<8,8,1>F { align1 };", "LINE"),
    ("frc(8) g20<1>F g22<8,8,1>F { align1 };", "the accumulator takes"),
    ("dp4(8) g20<1>F g22<8,8,1>F g23<8,8,1>F { align1 };", "the accumulator takes"),
    ("add(8) g20<1>D g22<8,8,1>D g23<8,8,1>D { align1 };", "the accumulator takes"),
    ("add(16) g20<1>W g22<16,16,1>W g23<16,16,1>W { align1 };", "share an accumulator"),
]


@pytest.fixture(scope="module")
def selector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selector")
    write_headers = "import sys, build; from pathlib import Path; build.write_derived_headers(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", write_headers, folder], cwd=NATIVE, check=True)
    (folder / "selector.c").write_text(PROGRAM)
    generations = [f"-D{name}={int(Gen[name])}" for name in ("GEN7", "GEN75", "GEN9")]
    subprocess.run(["cc", "-std=c11", "-Wno-psabi", *generations, f"-I{NATIVE}", f"-I{folder}", "-o",
                    folder / "selector", folder / "selector.c", *(NATIVE / name for name in SOURCES)], check=True)
    return folder / "selector"


def select(selector: Path, gen: Gen, line: str, *, accumulates: bool = False) -> str:
    head = int(gen).to_bytes(4, "little") + int(accumulates).to_bytes(4, "little")
    done = subprocess.run([selector], input=head + assemble(line, gen), capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.mark.parametrize(("gen", "line", "handler"), HANDLERS)
def test_an_instruction_that_lanes_can_compute_gets_its_handler(selector: Path, gen: Gen, line: str,
                                                                handler: str) -> None:
    assert select(selector, gen, line) == handler


@pytest.mark.parametrize(("gen", "line", "reason"), GENERAL)
def test_any_other_instruction_has_a_reason(selector: Path, gen: Gen, line: str, reason: str) -> None:
    assert reason in select(selector, gen, line)


@pytest.mark.parametrize(("line", "expected"), ACCUMULATING)
def test_an_accumulator_that_is_read_needs_a_handler_that_writes_it(selector: Path, line: str, expected: str) -> None:
    assert expected in select(selector, Gen.EL, line, accumulates=True)
