"""Pixel shaders of sixteen pixels a thread, as Mesa compiles them, for a Scene of two rows.

Red, green, blue and alpha of its vertices are the attributes 8 to 11.  The kernels that sample take red and green as
coordinates, sampler 0 and the surface of binding table entry 1.
"""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.messages import SAMPLE_16, WRITE_16

GEN = Gen.CTG

# distances from the start of the object: x and y of the first eight pixels in g50 and g51, of the others in g52 and g53
_PLACE = """
add(16) g46<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };
add(16) g48<1>UW g1.5<2,4,0>UW 0x11001100V { align1 };
add(8) g50<1>F g46<8,8,1>UW -g1<0,1,0>F { align1 };
add(8) g51<1>F g48<8,8,1>UW -g1.1<0,1,0>F { align1 };
add(8) g52<1>F g46.8<8,8,1>UW -g1<0,1,0>F { align1 sechalf };
add(8) g53<1>F g48.8<8,8,1>UW -g1.1<0,1,0>F { align1 sechalf };
"""
_SAMPLE = f"""
pln(16) m2<1>F g8<0,1,0>F g50<8,8,1>F {{ align1 compr }};
pln(16) m4<1>F g8.4<0,1,0>F g50<8,8,1>F {{ align1 compr }};
send(16) 1 g20<1>UW g0<8,8,1>UW {SAMPLE_16} sampler {{ align1 }};
"""
_WRITE = f"""
mov(8) m2<1>UD g1<8,8,1>UD {{ align1 nomask }};
send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} write {{ align1 EOT }};
"""


def _each(line: str) -> str:
    """The line for each channel c: a message register, attribute c and channel c of the texture."""
    return "".join(line.format(m=3 + c, attribute=f"g{8 + c // 2}.{4 * (c % 2)}", texel=f"g{20 + 2 * c}") + "\n"
                   for c in range(4))


def _kernel(body: str) -> bytes:
    return assemble(_PLACE + body + _WRITE, GEN)


INTERPOLATE = _kernel(_each("pln(16) m{m}<1>F {attribute}<0,1,0>F g50<8,8,1>F {{ align1 compr4 }};"))
COPY = _kernel(_SAMPLE + _each("mov(16) m{m}<1>F {texel}<8,8,1>F {{ align1 compr4 }};"))
TINT = _kernel(_SAMPLE + "pln(16) g40<1>F g9<0,1,0>F g50<8,8,1>F { align1 compr };"
               + _each("mul(16) m{m}<1>F {texel}<8,8,1>F g40<8,8,1>F {{ align1 compr4 }};"))
