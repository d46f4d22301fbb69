"""Describes the message of a `send` in words, from the layouts of `gen4emu.hw.gen4.messages`.

Those of later generations are in `later_message_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import lru_cache

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES, message_for
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, MathFunction, SharedFunction
from gen4emu.hw.layout import View
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.gen4 import SHARED_FUNCTIONS

SFIDS: dict[str, int] = {name: int(s) for s, name in SHARED_FUNCTIONS.items()} | {f"sfid{i}": i for i in range(16)}

MATH_NAMES = {f: f.name.lower() for f in MathFunction} | {
    MathFunction.INT_DIV_BOTH: "intdivmod", MathFunction.INT_DIV_QUOTIENT: "intdiv",
    MathFunction.INT_DIV_REMAINDER: "intmod"}


def sfid_name(sfid: int, gen: Gen = Gen.ALL4) -> str:
    return sfid_names(gen).get(sfid, f"sfid{sfid}")


def sfid_names(gen: Gen) -> Mapping[int, str]:
    """The names of the shared functions of a device in assembly."""
    return encoding_of(gen).shared_functions


@lru_cache(maxsize=4096)
def describe(descriptor: int, gen: Gen, sfid: int | None = None) -> str:
    """The message in words: operation, surface, lengths of payload and response.  Only Gen4 does not need the SFID."""
    encoding = encoding_of(gen)
    if sfid is not None and encoding.describe_message is not None:
        common = encoding.message_descriptor.view((descriptor,), gen=gen)
        words = encoding.describe_message(descriptor, sfid, gen)
        return f"{words} mlen {common.message_length} rlen {common.response_length}".lstrip()
    message = message_for(descriptor, gen)
    common = MESSAGE_DESCRIPTOR.view((descriptor,), gen=gen)
    lengths = f"mlen {common.message_length} rlen {common.response_length}"
    if message is None:
        return f"unknown function {lengths}"
    words = _WORDS[SharedFunction(message.sfid)](message.view((descriptor,), gen=gen))
    return f"{words} {lengths}" if words else lengths


def split_words(text: str) -> tuple[str, str]:
    """The words of `describe` and the lengths after them."""
    words, lengths = text[:text.rindex("mlen ")], text[text.rindex("mlen "):]
    return words.rstrip(), lengths


def _name(value: IntEnum | int) -> str:
    """The name of an enumeration value in lower case, or `reserved` and the number."""
    return value.name.lower().replace("_", " ") if isinstance(value, IntEnum) else f"reserved{value}"


def _flags(view: View, **words: str) -> str:
    """The names of the Boolean fields that are set."""
    names = view.layout.by_name(view.gen)
    return "".join(f" {word}" for name, word in words.items() if name in names and view.raw(name))


def _null(view: View) -> str:
    return ""


def _math(view: View) -> str:
    function = view.math_function
    name = MATH_NAMES[function] if isinstance(function, MathFunction) else _name(function)
    return name + _flags(view, signed_integer="signed", saturate="sat", scalar="scalar", partial_precision="pp",
                         snapshot="snapshot")


def _sampler(view: View) -> str:
    kind = SAMPLER_MESSAGES.get((view.message_type, view.message_length))
    name = f"{kind.name} SIMD{kind.simd} ({kind.parameters})" if kind else f"reserved type {view.message_type}"
    returns = f" {_name(view.return_format)}" if "return_format" in view.layout.by_name(view.gen) else ""
    return f"{name} Surface = {view.binding_table_index} Sampler = {view.sampler_index}{returns}"


def _gateway(view: View) -> str:
    return _name(view.gateway_function) + _flags(view, notify="notify", acknowledge="ack")


_SIZES = ("oword_block_size", "oword_dual_block_size", "dword_scattered_block_size")


def _block(view: View, direction: str) -> str:
    """A data port message without its cache and commit bit."""
    text = f"{_name(view.message_type)} {direction}"
    for f, raw in view.fields():
        if f.name in _SIZES:
            text += f" {_name(f.decode(raw))}"
        elif f.name == "vertical_line_stride_override" and raw:
            text += (f" line stride {int(view.override_vertical_line_stride)}"
                     f" offset {view.override_vertical_line_stride_offset}")
        elif f.name == "message_specific_control":
            text += f" MsgCtrl = 0x{raw:x}"
        elif f.name == "render_target_write_type":
            text += f" {f.text(raw)}"
    return text


def _read(view: View) -> str:
    cache = _name(view.target_cache)
    return f"{_block(view, 'read')} {cache} cache Surface = {view.binding_table_index}"


def _write(view: View) -> str:
    last = any(f.name == "last_render_target_select" and raw for f, raw in view.fields())
    return (_block(view, "write") + (" LastRT" if last else "") + f" Surface = {view.binding_table_index}"
            + _flags(view, send_write_commit_message="commit"))


def _urb(view: View) -> str:
    swizzle = "" if view.raw("swizzle_control") == 0 else f" {_name(view.swizzle_control)}"
    flags = _flags(view, allocate="allocate", used="used", complete="complete",
                   fast_composite_restriction_check_pass="fast_composite")
    return f"{view.offset} {_name(view.urb_opcode)}{swizzle}{flags}"


def _thread_spawner(view: View) -> str:
    target = next(f.text(raw) for f, raw in view.fields() if f.name in ("spawn_target", "dereference_target"))
    return f"{_name(view.opcode)} {_name(view.requester)} {target.lower()}".replace("_", " ")


_WORDS: dict[SharedFunction, Callable[[View], str]] = {
    SharedFunction.NULL: _null, SharedFunction.EXTENDED_MATH: _math, SharedFunction.SAMPLER: _sampler,
    SharedFunction.MESSAGE_GATEWAY: _gateway, SharedFunction.DATA_PORT_READ: _read,
    SharedFunction.DATA_PORT_WRITE: _write, SharedFunction.URB: _urb, SharedFunction.THREAD_SPAWNER: _thread_spawner,
}
