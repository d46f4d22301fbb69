"""Options that several verbs share, so that addresses and devices have the same meaning everywhere."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

import click

from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.errors import SelectionError
from gen4emu.hw.chips import BY_NAME, DEVICES, Device, device_named
from gen4emu.selection import ALL, Selection

Command = Callable[..., Any]

CODE_LIMIT = 64 << 20  # bytes of a file of EU code or assembly: thousands of times the largest kernel

_SIZE = re.compile(r"(\d{1,12})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_MIN_MEMORY = 256 << 20
_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(|ms|s|m|h)")
_TIME_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def address(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number with or without 0x: digits that are not a decimal number are hexadecimal."""
    if value is None:
        return None
    for base in (0, 16):
        try:
            number = int(value, base)
        except ValueError:
            continue
        if 0 <= number < 1 << 48:
            return number
    raise click.BadParameter(f"{value!r} is not an address below 2^48, such as 0x12300000", ctx, param)


def device(ctx: click.Context, param: click.Parameter, value: str | None) -> Device | None:
    """A device by name or PCI id."""
    if value is None:
        return None
    found = device_named(value)
    if found is None:
        raise click.BadParameter(unknown_device(value), ctx, param)
    return found


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """100ms, 30s, 5m, 1h, or a number of seconds."""
    if value is None:
        return None
    found = _TIME.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a time such as 100ms, 30s, 5m or 1h", ctx, param)
    return float(found[1]) * _TIME_UNITS[found[2]]


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int:
    """4G, 512M or bytes."""
    if value is None:
        return 0
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a size (examples: 4G, 1500M)", ctx, param)
    number = int(found[1]) << 10 * " kmgt".index(found[2].lower() or " ")
    if not _MIN_MEMORY <= number < 1 << 62:
        raise click.BadParameter(f"{value} is not between {_MIN_MEMORY >> 20}M and 2^62 bytes", ctx, param)
    return number


def unknown_device(text: str) -> str:
    near = difflib.get_close_matches(text.lower(), BY_NAME, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"unknown device {text!r} (known: {', '.join(d.name for d in DEVICES)}; see `gen4emu devices`){meant}"


def selection(ctx: click.Context, param: click.Parameter, value: str | None) -> Selection | None:
    """Frames, submissions or draws: see gen4emu.selection.  An option without a value means all."""
    if value is None:
        return None
    if not value:
        return ALL
    try:
        return Selection.parse(value)
    except SelectionError as e:
        raise click.BadParameter(str(e), ctx, param) from None


def _selection_option(noun: str, text: str) -> Callable[[Command], Command]:
    # The singular is an older name of the same option.
    return click.option(f"--{noun}s", f"--{noun}", f"{noun}s", callback=selection, metavar="N,N-N,...", help=text)


frames_option = _selection_option("frame", "Only these frames: 4, 100-120, 4,9, 0-1000/10, @file; from 0.")
submissions_option = _selection_option("submission", "Only these submissions, from 0.")
draws_option = _selection_option("draw", "Only these draws, from 0: primitives, blits and media objects.")
device_option = click.option("-d", "--device", callback=device, metavar="DEVICE",
                             help="The device, if FILE does not name it: g45, 965gm, 0x2e22, ...")
force_device_option = click.option("--force-device", is_flag=True,
                                   help="Accept a --device of another generation than the one FILE names.")

# How a trace is read: the options of every verb that reads one.
_TRACE_OPTIONS = (
    click.option("-b", "--raw", "kind", flag_value="raw", help="FILE is a raw batch: only dwords."),
    click.option("-a", "--hexdump", "kind", flag_value="hexdump", help="FILE is a hex dump, as text."),
    click.option("--base", callback=address, default="0", metavar="ADDRESS",
                 help="Address of a raw batch, or of the first line of a hex dump."),
    device_option,
    force_device_option,
    click.option("--partial", is_flag=True,
                 help="Accept a FILE that is cut short or damaged: warn instead of exit status 2."),
)


def trace_options(command: Command) -> Command:
    """Gives a verb `kind`, `base`, `device`, `force_device` and `partial`."""
    for option in reversed(_TRACE_OPTIONS):
        command = option(command)
    return command


def _hiz(ctx: click.Context, param: click.Parameter, value: str) -> HierarchicalDepthMode:
    return HierarchicalDepthMode[value.upper()]


hiz_option = click.option("--hiz", callback=_hiz, default="off", show_default=True,
                          type=click.Choice([mode.name.lower() for mode in HierarchicalDepthMode]),
                          help="Hierarchical depth buffers: ignore them; keep and check them; or leave depths in them "
                               "until they are resolved, and report reads of depth without a resolve.")


def _noted(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[f"gen4emu.{param.name}"] = True


quiet_option = click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_noted,
                            help="Only results and errors: no progress, no closing summary.")
verbose_option = click.option("-v", "--verbose", is_flag=True, expose_value=False, callback=_noted,
                              help="Show progress even if stderr is not a terminal: a line every ten seconds.")


def verbosity_options(command: Command) -> Command:
    """-q and -v, after the verb; `gen4emu -q VERB` means the same.  See terminal.is_quiet, is_verbose."""
    return quiet_option(verbose_option(command))
