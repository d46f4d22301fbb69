"""Two executions of one trace, on two devices or in two ways: `--devices` and `--options` of verbs that compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from gen4emu.cli import options
from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.hw.chips import Device, device_named

_CHOICES: dict[str, dict[str, dict[str, Any]]] = {
    "fp-rounding": {"rtz": {"round_to_nearest": False}, "rtne": {"round_to_nearest": True}},
    "general": {"off": {"general_only": False}, "on": {"general_only": True}},
    "hiz": {mode.name.lower(): {"hierarchical_depth": mode} for mode in HierarchicalDepthMode},
    "workers": {str(n): {"workers": n} for n in range(1, 65)},
}


def _option_pair(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Options, Options] | None:
    """`fp-rounding=rtz,rtne`."""
    if value is None:
        return None
    name, _, values = value.partition("=")
    known = _CHOICES.get(name)
    if known is None:
        raise click.BadParameter(f"unknown option {name!r} (known: {', '.join(_CHOICES)})", ctx, param)
    pair = values.split(",")
    if len(pair) != 2 or any(v not in known for v in pair):
        wanted = ", ".join(known) if len(known) < 8 else "1 to 64"
        raise click.BadParameter(f"{values!r} is not two of {wanted}, such as {_example(name)}", ctx, param)
    left, right = (replace(Options(), **known[v]) for v in pair)
    return left, right


def _example(name: str) -> str:
    """`fp-rounding=rtz,rtne`."""
    first, second = list(_CHOICES[name])[:2]
    return f"{name}={first},{second}"


def _devices(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Device, Device] | None:
    """`g45,g965`."""
    if value is None:
        return None
    names = value.split(",")
    if len(names) != 2:
        raise click.BadParameter(f"{value!r} is not two devices, such as g45,gm45", ctx, param)
    found = []
    for name in names:
        device = device_named(name)
        if device is None:
            raise click.BadParameter(options.unknown_device(name), ctx, param)
        found.append(device)
    return found[0], found[1]


devices_option = click.option("--devices", callback=_devices, metavar="DEVICE,DEVICE",
                              help="Execute one TRACE on two devices.")
options_option = click.option(
    "--options", "pair", callback=_option_pair, metavar="NAME=VALUE,VALUE",
    help="Execute one TRACE in two ways: fp-rounding=rtz,rtne, general=off,on, hiz=off,on, workers=1,2.")


def labels(files: Sequence[str], devices: tuple[Device, Device] | None,
           pair: tuple[Options, Options] | None) -> tuple[str, str]:
    """The names of both sides in results."""
    if devices is not None:
        return f"{files[0]} on {devices[0].name}", f"{files[0]} on {devices[1].name}"
    if pair is not None:
        return f"{files[0]}, first value", f"{files[0]}, second value"
    return files[0], files[-1]
