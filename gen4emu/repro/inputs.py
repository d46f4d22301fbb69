"""The inputs of an exported draw, as files for people: kernels, vertices, indices, constants and textures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gen4emu.api.surface import Surface
from gen4emu.api.trace import Draw, Trace
from gen4emu.decode.document import Document
from gen4emu.decode.nodes import Command, Data, Item, State
from gen4emu.decode.options import Options
from gen4emu.decode.plain_data import fetched
from gen4emu.device.targets import TargetFinder
from gen4emu.errors import AssemblyError, DecodeError
from gen4emu.hw.catalogue import surface_state_of
from gen4emu.image.picture import replacing
from gen4emu.isa import assemble
from gen4emu.repro.script import KernelText
from gen4emu.trace import reader

MOST_VERTICES = 65536  # in a file
_MOST_ROWS = 4096  # of constants: of each block, 16 bytes a row
_MOST_IMAGES = 64  # of textures: levels, elements, slices
_COMPONENTS = "xyzw"


def kernels_of(trace: Trace) -> list[KernelText]:
    """The kernels of a trace whose assembly gives the same code again."""
    found = []
    for use in trace.kernels():
        text = use.text()
        with suppress(AssemblyError):
            if use.code.complete and assemble(text, use.gen) == use.code.code:
                stages = "-".join(use.stages).replace(" ", "-")
                found += [KernelText(f"kernels/{stages}-{address:08x}.g4a", address, use.code.code, text)
                          for address in use.addresses]
    return found


def write_inputs(draw: Draw, path: Path, directory: Path) -> list[str]:
    """Write what the draw of a trace that was built reads; returns the names of the files.

    They are for people: `gen4emu build` does not read them.
    """
    source = reader.open(str(path))
    try:
        files, states = _decoded(source)
    finally:
        source.close()
    for name, text in files.items():
        with replacing(directory / name) as file:
            file.write(text.encode())
    return [*files, *_textures(draw, states, directory)]


def _decoded(source: reader.Trace) -> tuple[dict[str, str], list[State]]:
    """Files of vertices, indices and constants, and the state blocks of surfaces."""
    document = Document(source, file=source.path, container=source.kind, device=source.named_device,
                        options=Options(max_rows=_MOST_ROWS, repeat=True))
    files: dict[str, str] = {}
    states: list[State] = []
    constants: list[str] = []
    for item in document:
        if not isinstance(item, Command):
            continue
        for node in item.walk():
            if isinstance(node, State):
                states.append(node)
            elif isinstance(node, Data) and "CONST" in node.name:
                constants += _constants(node, item)
        if item.draw is not None and item.title == "3DPRIMITIVE" and document.decoder is not None:
            data = fetched(document.decoder.follower, item, MOST_VERTICES)
            files |= {name: text for one in data for name, text in _vertices(one)}
    if constants:
        files["constants.txt"] = "".join(constants)
    return files, states


def _constants(node: Data, item: Item) -> Iterator[str]:
    title = item.title if isinstance(item, Command) else ""
    yield f"# {node.name} {node.role} at 0x{node.address:08x}, {node.length} bytes, of {title}\n"
    for number, row in enumerate(node.rows):
        yield f"{16 * number:>6}  {row}\n"
    if node.more:
        yield f"# and {node.more} rows of 16 bytes; memory that is not in memory/ is zero\n"


def _vertices(data: Data) -> Iterator[tuple[str, str]]:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    if data.name == "INDEX_DATA":
        table.writerow(["index"])
        table.writerows([index] for row in data.values for index in row)
        yield "indices.csv", out.getvalue()
    elif data.name == "VERTEX_DATA" and data.values:
        elements = [element or [] for element in data.values[0]["elements"]]
        table.writerow(["vertex", *(f"{number}.{_COMPONENTS[i]}" for number, element in enumerate(elements)
                                    for i in range(len(element)))])
        table.writerows([row["vertex"], *(value for element in row["elements"] for value in element or [])]
                        for row in data.values)
        yield f"vertices-{data.role.removeprefix('buffer ')}.csv", out.getvalue()


def _textures(draw: Draw, states: list[State], directory: Path) -> Iterator[str]:
    """Pictures and exact values of each image of the surfaces that samplers read, as they are after the draw."""
    gen = draw.device.info.gen
    name = surface_state_of(gen).name
    blocks = {node.address: node for node in states if node.title == name and "texture" in node.role}
    images = 0
    for number, node in enumerate(blocks.values()):
        for target in TargetFinder(gen).images(tuple(node.body.words)):
            if images == _MOST_IMAGES:
                return
            part = "".join(f"-{word}-{n}" for word, n in (("level", target.level), ("slice", target.slice)) if n)
            surface = Surface(draw.memory, target)
            with suppress(DecodeError):  # of a format that has no picture
                surface.save(directory / f"texture-{number}{part}.png")
                yield f"texture-{number}{part}.png"
                surface.save(directory / f"texture-{number}{part}.npy")
                yield f"texture-{number}{part}.npy"
                images += 1
