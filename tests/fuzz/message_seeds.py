"""Seeds of native/message.c: surfaces of all formats, and messages of all types to samplers and data ports."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gen4emu.device.tiling import Tiling
from gen4emu.hw.added_formats import format_info_on
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES
from gen4emu.hw.gen4.sampler import MapFilter, MipFilter, TextureCoordinateMode
from gen4emu.hw.gen4.surface import SurfaceType
from gen4emu.hw.gen7.message_shapes import SAMPLER_MESSAGES_GEN7
from gen4emu.hw.gen9.message_shapes import SAMPLER_MESSAGES_GEN9
from gen4emu.hw.later_formats import AstcSurfaceFormat
from tests.harness.texturing import Texturing
from tests.harness.texturing_gen7 import Texturing7
from tests.harness.texturing_gen9 import Texturing9

PARTS = (Gen.CL, Gen.CTG, Gen.EL, Gen.IVB, Gen.HSW, Gen.KBL)  # as in message.c
MOST_BYTES = 16 + 2 * 64 + 2 * 16 + 80 + 10 * 32
_SAMPLERS = 0x3000
_COMPARE, _SAMPLER = 8, 2
_PORTS_GEN4 = (4, 5)
_PORTS_GEN7 = (4, 5, 9, 10, 11, 12)
_SHAPES = (SurfaceType.SURFTYPE_2D, SurfaceType.SURFTYPE_CUBE, SurfaceType.SURFTYPE_3D, SurfaceType.SURFTYPE_1D,
           SurfaceType.SURFTYPE_BUFFER)
_RESPONSE = 60


@dataclass(frozen=True, slots=True)
class _State:
    surface: Sequence[int]
    sampler: bytes


@dataclass(frozen=True, slots=True)
class _Message:
    function: int
    descriptor: int
    with_header: bool


def seeds() -> Iterator[bytes]:
    for index, gen in enumerate(PARTS):
        chance = random.Random(index)
        states = list(_states(gen))
        samplings, ports = _samplings(gen), list(_ports(gen, chance))
        for number, state in enumerate(states):
            yield _seed(index, samplings[number % len(samplings)], state, chance)
        for message in samplings:
            yield _seed(index, message, chance.choice(states), chance)
        for message in ports:
            yield _seed(index, message, chance.choice(states), chance)


def _states(gen: Gen) -> Iterator[_State]:
    """A surface of each format, their shapes, tilings and samplers in turn."""
    bench = Texturing(gen) if gen & Gen.ALL4 else (Texturing9 if gen & Gen.GEN9 else Texturing7)(gen)
    filters, mips, modes = list(MapFilter), list(MipFilter), list(TextureCoordinateMode)
    for number, format in enumerate(_formats(gen)):
        shape = _SHAPES[number % len(_SHAPES)]
        depth = 4 if shape is SurfaceType.SURFTYPE_3D else 1
        levels = 1 if shape is SurfaceType.SURFTYPE_BUFFER else 3
        tiling = Tiling.Y if number % 3 == 0 and levels > 1 else Tiling.LINEAR
        height = 1 if shape in (SurfaceType.SURFTYPE_1D, SurfaceType.SURFTYPE_BUFFER) else 16
        filter, mip, mode = filters[number % 2], mips[number % len(mips)], modes[number % len(modes)]
        if isinstance(bench, Texturing):
            bench.surface(SurfaceFormat(format), 16, height, depth, type=shape, levels=levels, tiling=tiling, size=64)
            bench.sampler(filter, mip, mode, border_color_pointer=0)
        else:
            bench.surface(AstcSurfaceFormat(format).name, 16, height, depth, type=shape.name, levels=levels,
                          tiling=tiling, size=64)
            bench.sampler(filter.name, mip.name, mode.name, border_color_pointer=0)
        yield _State(bench.state, bench.memory.read(_SAMPLERS, 16))


def _formats(gen: Gen) -> list[int]:
    if gen & Gen.ALL4:
        return [format for format in SurfaceFormat if format_info(format) is not None]
    return [format for format in AstcSurfaceFormat if format_info_on(int(format), gen) is not None]


def _samplings(gen: Gen) -> list[_Message]:
    """All messages of the sampler, for surface 1."""
    found = []
    if gen & Gen.ALL4:
        shift = 12 if gen & Gen.GEN45 else 14
        for (type_, length), shape in SAMPLER_MESSAGES.items():
            found.append(_Message(_SAMPLER, _SAMPLER << 24 | length << 20 | shape.response_length << 16
                                  | type_ << shift | 1, True))
        return found
    for (message, simd), shape in (SAMPLER_MESSAGES_GEN9 if gen & Gen.GEN9 else SAMPLER_MESSAGES_GEN7).items():
        registers = len(shape.parameters.split()) * (2 if shape.simd == "16" else 1)
        for header in (False, True):
            length = min(15, registers + header)
            found.append(_Message(_SAMPLER, length << 25 | shape.response_length << 20 | header << 19 | simd << 17
                                  | message << 12 | 1, header))
    return found


def _ports(gen: Gen, chance: random.Random) -> Iterator[_Message]:
    """Messages of all types to the data ports, with a few of their controls."""
    for function in _PORTS_GEN4 if gen & Gen.ALL4 else _PORTS_GEN7:
        for type_ in range(8 if gen & Gen.ALL4 else 16):
            for _ in range(3):
                length, response = chance.randrange(1, 11), chance.choice((0, 1, 2, 4, 8))
                if gen & Gen.ALL4:
                    yield _Message(function, function << 24 | length << 20 | response << 16 | type_ << 12
                                   | chance.randrange(16) << 8 | 1, True)
                else:
                    header = chance.randrange(2)
                    yield _Message(function, length << 25 | response << 20 | header << 19 | type_ << 14
                                   | chance.randrange(64) << 8 | 1, bool(header))


def _seed(part: int, message: _Message, state: _State, chance: random.Random) -> bytes:
    """struct header of message.c."""
    options = chance.randrange(8) | _COMPARE | message.function << 4
    surface = struct.pack("<16I", *state.surface, *[0] * (16 - len(state.surface)))
    border = struct.pack("<20f", *[chance.choice((0.0, 0.5, 1.0)) for _ in range(20)])
    header = struct.pack("<8I", _SAMPLERS, *[0] * 7) if message.with_header else b""
    return (struct.pack("<4BI2HI", part, options, 1, _RESPONSE, message.descriptor, 0xFFFF, 16, chance.getrandbits(32))
            + 2 * surface + 2 * state.sampler + border + header)
