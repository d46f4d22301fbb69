"""Data without a layout: vertices by their elements' formats, indices, constants, indirect data.

The first rows are shown; whether all data of a primitive is there is checked for the whole of it.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any, Literal

from gen4emu.decode.context import VertexElement
from gen4emu.decode.follower import Follower
from gen4emu.decode.nodes import Command, Data, Node
from gen4emu.hw.formats import Channel, ChannelType, FormatInfo
from gen4emu.hw.layout import View

_INDICES_LIMIT = 1 << 20  # looked at for each primitive
_INDICES_A_ROW = 16
_FETCHED_ROWS = 1 << 20  # of `fetched`
_INDEX_CODES: dict[int, Literal["B", "H", "I"]] = {0: "B", 1: "H", 2: "I"}


def vertices(follower: Follower, node: Command, show: bool) -> None:
    """The vertices that a 3DPRIMITIVE reads, and its indices; shown when the buffers are new, checked always."""
    view, context = node.body.view, follower.context
    if _is_indirect(view):
        return  # registers say which
    count = int(getattr(view, "vertex_count_per_instance", 0))
    if not count or not view.instance_count:
        return
    start = int(view.start_vertex_location)
    if view.raw("vertex_access_type"):
        found = _indices(follower, node, start, count, show)
        if not found:
            return
        base = int(view.base_vertex_location)
        numbers = [i + base for i in found[0]]
        low, high = found[1] + base, found[2] + base
    else:
        numbers = list(range(start, start + min(count, _rows(follower))))
        low, high = start, start + count - 1
    elements: dict[tuple[int, int | None], list[VertexElement]] = {}  # by buffer and step rate of instances
    for i, e in enumerate(context.vertex_elements):
        elements.setdefault((e.buffer, context.step_rates.get(i)), []).append(e)
    for (index, rate), used in elements.items():
        buffer = context.vertex_buffers.get(index)
        if buffer is None:
            if any(e.reads_memory for e in used) and follower.first_time("vertex buffer", index, 0):
                follower.complain(node, "no-vertex-buffer", f"vertex element from buffer {index}, which was never set")
            continue
        names = buffer.layout.by_name(buffer.gen)
        if "null_vertex_buffer" in names and buffer.null_vertex_buffer:
            continue
        if rate is None and "buffer_access_type" in names and buffer.raw("buffer_access_type"):
            rate = int(buffer.instance_data_step_rate)
        if rate is None:
            _buffer(follower, node, index, buffer, used, numbers, (low, high), show)
        else:
            first = int(view.start_instance_location)
            last = first + ((int(view.instance_count) - 1) // rate if rate else 0)
            _buffer(follower, node, index, buffer, used, [first], (first, last), show)


def fetched(follower: Follower, draw: Command, most: int) -> list[Data]:
    """The indices and the vertices, up to `most`, that a 3DPRIMITIVE reads, whether or not they were shown before."""
    node = Command(draw.address, draw.body)
    options, rows = follower.options, follower.rows
    follower.options, follower.rows = replace(options, max_rows=most), _FETCHED_ROWS
    try:
        vertices(follower, node, show=True)
    finally:
        follower.options, follower.rows = options, rows
    return [child for child in node.children if isinstance(child, Data)]


def _is_indirect(view: View) -> bool:
    """Whether the counts of a primitive come from somewhere else."""
    names = view.layout.by_name(view.gen)
    return any(name in names and getattr(view, name) for name in ("indirect_parameter_enable", "end_offset_enable"))


def plain(follower: Follower, parent: Node, address: int, target: str, size: int, role: str) -> None:
    """Constants as floats, other data as bytes."""
    if not size:
        return
    missing = follower.peek.missing(address, size)
    if missing is not None:
        follower.lost(parent, missing, target, role)
    node = Data(address, role, target, size)
    shown = follower.peek.available(address, min(size, 16 * _rows(follower)))
    for at in range(0, len(shown), 16):
        row = shown[at:at + 16]
        if target == "CONSTANTS":
            values: Any = [v[0] for v in struct.iter_unpack("<f", row[:len(row) & ~3])]
            node.rows.append(" ".join(f"{v:.6g}" for v in values))
        else:
            values = row.hex(" ")
            node.rows.append(values)
        node.values.append(values)
        follower.rows -= 1
    node.more = -(-size // 16) - len(node.rows)
    parent.children.append(node)


def _rows(follower: Follower) -> int:
    limit, left = follower.options.max_rows, max(follower.rows, 0)
    return left if limit < 0 else min(limit, left)


def _indices(follower: Follower, node: Command, start: int, count: int,
             show: bool) -> tuple[list[int], int, int] | None:
    """The first indices, the smallest and the largest."""
    buffer = follower.context.index_buffer
    if buffer is None:
        follower.complain(node, "no-index-buffer", "random access without 3DSTATE_INDEX_BUFFER")
        return None
    code = _INDEX_CODES.get(buffer.raw("index_format"))
    if code is None:
        return None  # a reserved format: reported at the element
    size = struct.calcsize(code)
    base = int(buffer.buffer_starting_address) & follower.context.mask
    address = base + start * size
    end = _end(buffer, base)
    if end is not None and address + count * size > end:
        count = max(0, (end - address) // size)
    missing = follower.peek.missing(address, count * size)
    if missing is not None:
        follower.lost(node, missing, "INDEX_DATA", "")
    if not count:
        return None
    data = follower.peek.available(address, min(count, _INDICES_LIMIT) * size)
    values = memoryview(data[:len(data) - len(data) % size]).cast(code)
    if not values:
        return None
    cut = follower.context.cut_index(buffer, (1 << 8 * size) - 1)
    if show:
        shown = Data(address, "", "INDEX_DATA", count * size)
        rows = _rows(follower)
        for at in range(0, min(len(values), rows * _INDICES_A_ROW), _INDICES_A_ROW):
            row = list(values[at:at + _INDICES_A_ROW])
            shown.values.append(row)
            shown.rows.append(" ".join("cut" if v == cut else str(v) for v in row))
        follower.rows -= len(shown.rows)
        shown.more = -(-count // _INDICES_A_ROW) - len(shown.rows)
        node.children.append(shown)
    first = [v for v in values[:_rows(follower)] if v != cut]
    if cut is None:
        return first, min(values), max(values)
    used = set(values) - {cut}
    return (first, min(used), max(used)) if used else None


def _buffer(follower: Follower, node: Command, index: int, buffer: View, elements: list[VertexElement],
            numbers: list[int], limits: tuple[int, int], show: bool) -> None:
    """One vertex buffer: the rows with these numbers; all rows from limits[0] to limits[1] must have contents."""
    base, pitch = int(buffer.buffer_starting_address) & follower.context.mask, int(buffer.buffer_pitch)
    names = buffer.layout.by_name(buffer.gen)
    last = int(buffer.max_index) if "max_index" in names else 0
    low, high = (min(n, last) if last else n for n in limits)
    reach = max(e.offset + e.size for e in elements)
    first = base + max(low, 0) * pitch
    size = max(0, high - max(low, 0)) * pitch + reach
    end = None if "max_index" in names else _end(buffer, base)
    if end is not None:  # beyond it, memory reads as 0
        size = max(0, min(size, end - first))
    if follower.first_time("VERTEX_DATA", first, size):
        missing = follower.peek.missing(first, size)
        if missing is not None:
            follower.lost(node, missing, "VERTEX_DATA", f"buffer {index}")
    if not show:
        return
    shown = Data(first, f"buffer {index}", "VERTEX_DATA", size)
    for number in numbers[:_rows(follower)]:
        at = base + number * pitch
        row: list[list[float | int] | None] = []
        for e in elements:
            data = None if e.info is None else follower.peek.read(at + e.offset & follower.context.mask, e.size)
            row.append(None if e.info is None or data is None else texel(e.info, data))
        follower.rows -= len(row)
        shown.values.append({"vertex": number, "elements": row})
        shown.rows.append(f"[{number}] " + " ".join(_tuple(values) for values in row))
    shown.more = max(0, high - low + 1 - len(shown.rows))
    node.children.append(shown)


def _end(buffer: View, base: int) -> int | None:
    """The address after a vertex or index buffer; None if it is not known."""
    names = buffer.layout.by_name(buffer.gen)
    if "buffer_size" in names:
        return base + int(buffer.buffer_size)
    last = int(buffer.end_address if "end_address" in names else buffer.buffer_ending_address)
    return last + 1 if last or "end_address" in names else None


def _tuple(values: list[float | int] | None) -> str:
    if values is None:
        return "(?)"
    return "(" + ", ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values) + ")"


# --- formats ----------------------------------------------------------------------------------------------------------
def texel(info: FormatInfo, data: bytes) -> list[float | int]:
    """The channels of an uncompressed texel or vertex element, as stored."""
    bits = int.from_bytes(data, "little")
    return [_channel(c, bits >> c.at & (1 << c.bits) - 1) for c in info.channels if c.type is not ChannelType.UNUSED]


def _channel(c: Channel, raw: int) -> float | int:
    kind, top = c.type, (1 << c.bits) - 1
    if kind is ChannelType.FLOAT:
        code, whole = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}.get(c.bits, ("", ""))
        return float(struct.unpack(code, struct.pack(whole, raw))[0]) if code else raw
    signed = raw - (top + 1) if raw > top >> 1 else raw
    if kind is ChannelType.UNORM:
        return raw / top
    if kind is ChannelType.SNORM:
        return max(-1.0, signed / (top >> 1)) if c.bits > 1 else float(signed)
    if kind is ChannelType.SINT:
        return signed
    if kind is ChannelType.SSCALED:
        return float(signed)
    return float(raw) if kind is ChannelType.USCALED else raw
