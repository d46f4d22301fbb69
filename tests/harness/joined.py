"""Traces with many submissions: several traces of one chip, one after the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.events import Engine, GttWrite, MemoryWrite, RegisterWrite, Submission
from gen4emu.trace.reader import open as open_trace
from gen4emu.trace.write_capture import CaptureWriter

TRACES = Path(__file__).parents[2] / "traces"


def join_submissions(path: Path, name: str, count: int, chip: str = "g45") -> str:
    """Write a capture of a trace of one submission whose ring contents are there several times, in one submission."""
    with CaptureWriter(path, BY_NAME[chip]) as writer, open_trace(str(TRACES / f"{name}.aub.xz")) as trace:
        for event in trace:
            if isinstance(event, MemoryWrite):
                writer.write_memory(event.address, event.data, event.kind, event.space)
            elif isinstance(event, Submission):
                writer.submit(event.engine, bytes(event.ring) * count, event.ring_address)
            elif isinstance(event, RegisterWrite):
                writer.write_register(event)
            elif isinstance(event, GttWrite):
                writer.write_gtt(event)
        writer.frame_boundary(name)
    return str(path)


def join(path: Path, *scenes: str | Sequence[int], chip: str = "g45") -> str:
    """Write a capture of the traces with these names, or of these commands in the ring, a frame each."""
    with CaptureWriter(path, BY_NAME[chip]) as writer:
        for name in scenes:
            if not isinstance(name, str):
                writer.submit(Engine.RENDER, struct.pack(f"<{len(name)}I", *name), 0)
                writer.frame_boundary("")
                continue
            with open_trace(str(TRACES / f"{name}.aub.xz")) as trace:
                for event in trace:
                    if isinstance(event, MemoryWrite):
                        writer.write_memory(event.address, event.data, event.kind, event.space)
                    elif isinstance(event, Submission):
                        writer.submit(event.engine, event.ring, event.ring_address)
                    elif isinstance(event, RegisterWrite):
                        writer.write_register(event)
                    elif isinstance(event, GttWrite):
                        writer.write_gtt(event)
            writer.frame_boundary(name)
    return str(path)
