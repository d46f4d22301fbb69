"""Generates sampler_messages.h: the C tables of the sampler's messages, by type and length, of Gen7 by SIMD mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gen4emu.hw.emit_c import enum, guarded
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES, SamplerMessage
from gen4emu.hw.gen7.message_shapes import SAMPLER_MESSAGES_GEN7
from gen4emu.hw.gen9.message_shapes import SAMPLER_MESSAGES_GEN9

_PARAMETERS = ("u", "v", "r", "bias", "lod", "ref", "dudx", "dvdx", "drdx", "dudy", "dvdy", "drdy", "ai", "si",
               "mcs", "mcs_high", "off_u", "off_v")
_ABSENT = 255
_TYPES, _LENGTHS = 4, 16

_HEAD = f"""enum {{
    G4_SAMPLER_NO_PARAMETER = {_ABSENT},
    G4_SAMPLER_MESSAGE_TYPES = {_TYPES},
    G4_SAMPLER_MESSAGE_LENGTHS = {_LENGTHS},
    G4_SAMPLER_MESSAGE_TYPES_GEN7 = 32,
    G4_SAMPLER_SIMD_MODES = 4,
}};

/* A sampler message.  `slot` counts parameters in the payload. */
struct g4_sampler_shape {{
    uint8_t simd;     /* 16, 8, or 4 for SIMD4x2; 0: the message does not exist */
    uint8_t response; /* registers, with no channel masked */
    uint8_t operation;
    uint8_t slot[{len(_PARAMETERS)}]; /* by enum g4_sampler_parameter, or G4_SAMPLER_NO_PARAMETER */
}};
"""


def generate() -> str:
    """The text: enumerations, the struct and the tables."""
    messages = [*SAMPLER_MESSAGES.values(), *SAMPLER_MESSAGES_GEN7.values(), *SAMPLER_MESSAGES_GEN9.values()]
    return guarded("gen4emu/hw/gen4/message_shapes.py", "G4_SAMPLER_MESSAGES_H", "\n".join([
        "\n#include <stdint.h>\n",
        enum("g4_sampler_operation", "G4_SAMPLER_OP", sorted({m.name for m in messages})),
        enum("g4_sampler_parameter", "G4_SAMPLER_PARAMETER", _PARAMETERS),
        _HEAD,
        _table("g4_sampler_shapes[G4_SAMPLER_MESSAGE_TYPES][G4_SAMPLER_MESSAGE_LENGTHS]", SAMPLER_MESSAGES),
        _table("g4_sampler_shapes_gen7[G4_SAMPLER_MESSAGE_TYPES_GEN7][G4_SAMPLER_SIMD_MODES]", SAMPLER_MESSAGES_GEN7),
        _table("g4_sampler_shapes_gen9[G4_SAMPLER_MESSAGE_TYPES_GEN7][G4_SAMPLER_SIMD_MODES]", SAMPLER_MESSAGES_GEN9),
    ]))


def _table(declarator: str, messages: Mapping[Any, SamplerMessage]) -> str:
    rows = "\n".join(_row((int(key[0]), int(key[1])), message) for key, message in sorted(messages.items()))
    return f"static const struct g4_sampler_shape {declarator} = {{\n{rows}\n}};\n"


def _row(key: tuple[int, int], message: SamplerMessage) -> str:
    simd = 4 if message.simd == "4x2" else int(message.simd)
    places = message.parameters.split()
    slots = ", ".join(str(places.index(p) if p in places else _ABSENT) for p in _PARAMETERS)
    operation = f"G4_SAMPLER_OP_{message.name.upper()}"
    return (f"    [{key[0]}][{key[1]}] = {{{simd}, {message.response_length}, {operation}, {{{slots}}}}}, "
            f"/* {message.name} {message.parameters} */")
