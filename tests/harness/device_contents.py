"""All that a device holds, to compare two."""

from __future__ import annotations

import hashlib
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.device import Device


def memory_digest(device: Device) -> str:
    numbers = device.memory.owned_pages()
    digest = hashlib.blake2b(numbers.tobytes())
    for data in device.memory.copy_pages(numbers):
        digest.update(data)
    return digest.hexdigest()


def everything(device: Device) -> dict[str, Any]:
    """All that a program, a tool or a message can see of a device, but times."""
    return {
        "memory": memory_digest(device), "contents": device.memory.ranges(), "missed": device.memory.missed(),
        "page table": device.memory.gtt(), "registers": device.registers.dump(),
        "counts": {name: n for name, n in device.counts().items() if not name.endswith("ns")},
        "faults": device.faults, "findings": device.findings, "events": device.events(),
        "errors": device.error_records(), "place": device.place, "numbers": device.numbers.save(),
        "states": {engine: streamer.state.save() for engine, streamer in device.streamers.items()},
        "times": {engine: streamer.timestamp() for engine, streamer in device.streamers.items()},
        "targets": device.targets.save(), "hierarchical depth": device.hierarchical_depth_counts(),
    }


def joined_draws(device: Device) -> int:
    """The number of draws whose tiles were drawn together with those of the draw before."""
    counts = ffi.new("struct g4_device_counts *")
    lib.g4_device_counts(device.native, counts)
    return int(counts.joined)
