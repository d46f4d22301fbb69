"""The message of a `send` as IGT's assembler writes it: `urb 0 transpose used complete mlen 4 rlen 0`.

Descriptors are built through the layouts of `gen4emu.hw.gen4.messages`.
"""

from __future__ import annotations

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, SharedFunction
from gen4emu.hw.layout import Message
from gen4emu.isa.lexer import Lexer, Syntax, Token, integer
from gen4emu.isa.message_text import MATH_NAMES, SFIDS

_MATH_FUNCTIONS = {name: f for f, name in MATH_NAMES.items()}
_URB_WORDS = {"transpose": ("swizzle_control", 2), "interleave": ("swizzle_control", 1), "allocate": ("allocate", 1),
              "used": ("used", 1), "complete": ("complete", 1)}
_MATH_WORDS = {"signed": "signed_integer", "scalar": "scalar", "sat": "saturate"}
_SAMPLER_TYPES = {"F": 0, "UD": 2, "D": 3}


def parse_igt_target(lex: Lexer, gen: Gen, syntax: Syntax) -> int:
    """The descriptor of a message target with its `mlen` and `rlen`."""
    name = lex.advance()
    sfid = SFIDS[name.text.lower()]
    values: dict[str, int] = {}
    # IGT uses the two-bit data port read types of the 965, which are the even types of G4x
    layout_gen = Gen.CL if sfid in (SharedFunction.DATA_PORT_READ, SharedFunction.DATA_PORT_WRITE) else gen
    if sfid == SharedFunction.EXTENDED_MATH:
        _math_target(lex, values)
    elif sfid == SharedFunction.URB:
        values["offset"] = integer(lex, syntax).value
        while (word := lex.token.text.lower()) in _URB_WORDS:
            member, value = _URB_WORDS[word]
            values[member] = value
            lex.advance()
    elif sfid == SharedFunction.SAMPLER:
        _sampler_target(lex, syntax, values, gen)
    elif sfid == SharedFunction.DATA_PORT_READ:
        _arguments(lex, syntax, values, ("binding_table_index", "target_cache", "message_specific_control",
                                         "message_type"))
    elif sfid == SharedFunction.DATA_PORT_WRITE:
        _arguments(lex, syntax, values, ("binding_table_index", "message_specific_control", "message_type",
                                         "send_write_commit_message"))
    elif sfid == SharedFunction.THREAD_SPAWNER:
        _arguments(lex, syntax, values, ("opcode", "requester", "spawn_target"))
    values["shared_function"] = sfid
    for word, member in (("mlen", "message_length"), ("rlen", "response_length")):
        if lex.token.text.lower() != word:
            lex.fail(f"expected '{word}' and the number of registers")
        lex.advance()
        values[member] = integer(lex, syntax).value
    return _fill(lex, name, catalogue_of(layout_gen).message(sfid), values, layout_gen)


def _fill(lex: Lexer, at: Token, layout: Message | None, values: dict[str, int], gen: Gen) -> int:
    words = [0]
    for member, value in values.items():
        f = (layout or MESSAGE_DESCRIPTOR).field(member, gen)
        if not 0 <= value <= f.mask:
            lex.fail(f"{member.replace('_', ' ')} {value} does not fit {f.width} bits", at)
        f.insert(words, value)
    return words[0]


def _math_target(lex: Lexer, values: dict[str, int]) -> None:
    name = lex.advance()
    function = _MATH_FUNCTIONS.get(name.text.lower())
    if function is None:
        lex.fail(f"unknown math function {name.text[:40]}", name)
    values["math_function"] = function
    while True:
        if lex.token.is_(".") and lex.peek().text.lower() == "sat":
            lex.advance()
        if lex.token.text.lower() not in _MATH_WORDS:
            return
        values[_MATH_WORDS[lex.advance().text.lower()]] = 1


def _sampler_target(lex: Lexer, syntax: Syntax, values: dict[str, int], gen: Gen) -> None:
    lex.punct("(")
    values["binding_table_index"] = integer(lex, syntax).value
    lex.punct(",")
    values["sampler_index"] = integer(lex, syntax).value
    lex.punct(",")
    token = lex.advance()
    kind = _SAMPLER_TYPES.get(token.text.upper())
    if kind is None:
        lex.fail("a sampler returns F, UD or D", token)
    if gen & Gen.GEN4:
        values["return_format"] = kind
    elif kind:
        lex.fail("on Gen4.5 the surface format decides what a sampler returns; write F", token)
    lex.punct(")")


def _arguments(lex: Lexer, syntax: Syntax, values: dict[str, int], names: tuple[str, ...]) -> None:
    lex.punct("(")
    for i, name in enumerate(names):
        if i:
            lex.punct(",")
        values[name] = integer(lex, syntax).value
    if lex.token.is_(","):  # later generations have a header bit; Gen4 messages always have a header
        lex.advance()
        integer(lex, syntax)
    lex.punct(")")
