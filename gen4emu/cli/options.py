"""Options that several verbs take: addresses and devices mean the same everywhere."""

from __future__ import annotations

import click

from gen4emu.hw.gen import BY_NAME, Device, device_named

CODE_LIMIT = 64 << 20  # bytes of a file of EU code or assembly: thousands of times the largest kernel


def address(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number with or without 0x: digits that are no decimal number are hexadecimal."""
    if value is None:
        return None
    for base in (0, 16):
        try:
            number = int(value, base)
        except ValueError:
            continue
        if 0 <= number < 1 << 48:
            return number
    raise click.BadParameter(f"{value!r} is no address", ctx, param)


def device(ctx: click.Context, param: click.Parameter, value: str | None) -> Device | None:
    """A device by name or PCI id."""
    if value is None:
        return None
    found = device_named(value)
    if found is None:
        known = ", ".join(sorted(BY_NAME))
        raise click.BadParameter(f"{value!r} is no device; known are {known}, and their PCI ids", ctx, param)
    return found


device_option = click.option("-d", "--device", callback=device, metavar="DEVICE",
                             help="Take this device, whatever FILE says: g45, 965gm, 0x2e22, ...")
raw_option = click.option("-b", "--raw", "kind", flag_value="raw", help="FILE is a raw batch: nothing but dwords.")
hexdump_option = click.option("-a", "--hexdump", "kind", flag_value="hexdump", help="FILE is a hex dump, as text.")
base_option = click.option("--base", callback=address, default="0", metavar="ADDRESS", help="Where a raw batch lives.")
