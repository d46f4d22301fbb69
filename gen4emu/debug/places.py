"""What surrounds a stop: the draw and its kernels, surfaces, base addresses, memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gen4emu.debug.history import origin_lines
from gen4emu.debug.model import Thread, surface_words
from gen4emu.device.device import Device
from gen4emu.device.memory import MemoryFault, Missing, Unit
from gen4emu.device.state import Words
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.surface import SURFACE_STATE, SurfaceType

_STATES = (("vs", "VS_STATE", "vs_state"), ("gs", "GS_STATE", "gs_state"), ("clip", "CLIP_STATE", "clip_state"),
           ("sf", "SF_STATE", "sf_state"), ("wm", "WM_STATE", "wm_state"))
_ENTRIES = 32  # of a binding table that are shown
_ROW = 32  # bytes of memory in a line


def peek(device: Device, address: int, size: int) -> bytes:
    return device.memory.read(address, min(size, (1 << 32) - address), Missing.ZERO)


def is_there(device: Device, address: int) -> bool:
    """Whether there is memory at an address."""
    try:
        device.memory.read(address, 1)
    except MemoryFault:
        return False
    return True


def dump(address: int, data: bytes) -> Iterator[str]:
    for at in range(0, len(data), _ROW):
        row = data[at:at + _ROW]
        words = struct.unpack(f"<{len(row) // 4}I", row[:len(row) // 4 * 4])
        rest = row[len(row) // 4 * 4:].hex(" ")
        yield f"0x{address + at:08x}  {' '.join(f'{w:08x}' for w in words)} {rest}".rstrip()


def draw_lines(device: Device, words: Words) -> Iterator[str]:
    """The 3DPRIMITIVE that is about to start, and which kernels it has."""
    gen = device.info.gen
    p = command_named("3DPRIMITIVE", gen).view(words, gen=gen, dwords=len(words))
    access = "indexed" if p.vertex_access_type else "sequential"
    topology = getattr(p.primitive_topology_type, "name", p.primitive_topology_type)
    instances = f", {p.instance_count} instances" if p.instance_count != 1 else ""
    yield (f"{device.place}: 3DPRIMITIVE {topology}, {p.vertex_count_per_instance} vertices from "
           f"{p.start_vertex_location}, {access}{instances}")
    state = device.state
    kernels = []
    for stage, block, pointer in _STATES:
        if (stage == "gs" and not state.gs_enable) or (stage == "clip" and not state.clip_enable):
            continue
        layout = block_named(block)
        size = layout.size(gen)
        view = layout.view(struct.unpack(f"<{size}I", peek(device, getattr(state, pointer), 4 * size)), gen=gen)
        if stage == "vs" and not view.vs_function_enable:
            continue
        kernels.append(f"{stage} 0x{state.general_state_base + view.kernel_start_pointer & 0xFFFFFFFF:08x}")
    yield f"  kernels: {', '.join(kernels)}"


def base_lines(device: Device) -> Iterator[str]:
    """965v4 3.3.3: what SVG shows of the context that runs."""
    state = device.state
    for name in ("general_state_base", "surface_state_base", "indirect_object_base", "general_state_bound",
                 "indirect_object_bound", "system_instruction_pointer"):
        yield f"{name.replace('_', ' ')} 0x{getattr(state, name):08x}"


def surfaces(device: Device, thread: Thread) -> list[tuple[int, str]]:
    """The thread's binding table, up to the first entry that is empty."""
    found = []
    for index in range(_ENTRIES):
        (entry,) = struct.unpack("<I", peek(device, thread.binding_table + 4 * index & 0xFFFFFFFF, 4).ljust(4, b"\0"))
        if entry == 0:
            break
        s = SURFACE_STATE.view(surface_words(device, thread, index), gen=device.info.gen)
        kind = getattr(s.surface_type, "name", str(s.surface_type)).removeprefix("SURFTYPE_")
        form = getattr(s.surface_format, "name", str(s.surface_format))
        if s.surface_type == SurfaceType.SURFTYPE_BUFFER:
            text = f"{kind} 0x{s.surface_base_address:08x} {form}"
        else:
            tiling = "linear" if not s.tiled_surface else "tiled " + getattr(s.tile_walk, "name", "?")[0]
            text = (f"{kind} 0x{s.surface_base_address:08x} {form} {s.width}x{s.height}x{s.depth}, "
                    f"pitch {s.surface_pitch}, {tiling}")
        found.append((index, text))
    return found


def origin_of_thread(thread: Thread) -> Iterator[str]:
    """What the thread works on."""
    if thread.unit is Unit.WM:
        blocks = " ".join(f"({x},{y})" for x, y in thread.subspans)
        yield f"object {thread.object}, thread {thread.in_object} of it, 2x2 blocks {blocks}"
    elif thread.object is not None:
        yield f"object {thread.object}"
    for vertex in thread.vertices:
        yield from origin_lines(vertex, "  ")


