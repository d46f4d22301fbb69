"""`gen4emu devices`: the devices that are modelled."""

from __future__ import annotations

import json
from typing import Any

import click

from gen4emu.cli.tables import table
from gen4emu.hw.chips import BY_NAME, DEVICES, Device
from gen4emu.hw.gen import Gen, generation_name

SCHEMA = "gen4emu.devices/1"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/json.md).")
def devices(as_json: bool) -> None:
    """List the devices: names for --device, PCI ids, generation, execution units, and what each can do.

    \b
    Example:
      gen4emu devices --json
    """
    entries = [_entry(device) for device in DEVICES]
    if as_json:
        document = {"schema": SCHEMA, "file": None, "devices": entries, "errors": [], "status": 0}
        click.echo(json.dumps(document, indent=1))
        return
    rows = [(e["name"], ", ".join(e["aliases"]), f"0x{e['pci_id']:04x}", e["generation"], e["marketing"],
             f"{e['eu_count']} x {e['threads_per_eu']}", str(e["urb_rows"]), e["video"]) for e in entries]
    heads = ("name", "aliases", "PCI id", "generation", "chip", "EUs x threads", "URB rows", "VA driver")
    click.echo("\n".join(table(heads, rows, indent="")))
    executed = list(dict.fromkeys(str(e["generation"]) for e in entries if e["executes"]))
    names = f"{', '.join(executed[:-1])} and {executed[-1]}"
    click.echo(f"\nDevices of {names} execute. Those of other generations do not yet: decode,\n"
               "info, lint, kernels, asm, disasm, convert and capture know them. Drivers see the PCI id.")


def _entry(device: Device) -> dict[str, Any]:
    g4x = bool(device.gen & Gen.GEN45)
    return {
        "name": device.name,
        "aliases": [name for name, known in BY_NAME.items() if known is device and name != device.name],
        "pci_id": device.pci_id,
        "marketing": device.marketing,
        "generation": generation_name(device.gen),
        "eu_count": device.eu_count,
        "threads_per_eu": device.threads_per_eu,
        "urb_rows": device.urb_rows,
        "gtt_entries": device.gtt_entries,
        "executes": device.executes,
        "video": "MPEG-2" if g4x else "-",
    }
