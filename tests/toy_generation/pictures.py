"""Draws the same things on a G45 and on the toy, in a copy of the tree that has the toy; prints JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa.disassembler import listing
from tests.harness import scene
from tests.harness.scene import Scene, vertex

TRIANGLE = [vertex(2.0, 3.0, color=(1.0, 0.0, 0.5, 1.0)), vertex(29.0, 5.0, color=(0.0, 1.0, 0.5, 1.0)),
            vertex(10.0, 28.0, color=(0.25, 0.5, 1.0, 1.0))]
LINE = [vertex(2.0, 3.0), vertex(29.0, 20.0)]


def draw(gen: Gen, vertices: Any = TRIANGLE, topology: PrimitiveTopology = PrimitiveTopology.TRILIST, *,
         rectangle: dict[str, Any] | None = None, raw_rectangle: int | None = None, **blocks: Any) -> list[list[int]]:
    made = Scene(gen, rectangle=rectangle or {}, **blocks)
    if raw_rectangle is None:
        made.draw(vertices, topology)
    else:  # the upper bounds as one dword, after the command that sets the others
        header = command_named("3DSTATE_DRAWING_RECTANGLE", gen).build(gen)[:4]
        batch = made.prepare(vertices) + header + (0).to_bytes(4, "little") + raw_rectangle.to_bytes(4, "little")
        made.run(batch + bytes(4) + made.primitive(topology, len(vertices)))
    return made.pixels()


def main() -> None:
    scene.DEVICES |= {Gen.EL: BY_NAME["g45"], Gen.TOY: BY_NAME["toy"]}
    found: dict[str, Any] = {"core": sys.modules["gen4emu._native"].__file__}
    for name, gen in (("g45", Gen.EL), ("toy", Gen.TOY)):
        made = Scene(gen)
        found[name] = {
            "triangle": draw(gen),
            "line": draw(gen, LINE, PrimitiveTopology.LINELIST),
            "field": draw(gen, raw_rectangle=19 << 16 | 9),
            "limit": draw(gen, tiling=Tiling.X, surface={"x_offset": 8}),
            "primitive": int.from_bytes(made.primitive(PrimitiveTopology.TRILIST, 3)[:4], "little"),
            "kernel has 0x59": any(made.pixel_kernel[at] & 0x7F == 0x59 for at in range(0, len(made.pixel_kernel), 16)),
            "kernel has 0x70": any(made.pixel_kernel[at] & 0x7F == 0x70 for at in range(0, len(made.pixel_kernel), 16)),
            "kernel": listing(made.pixel_kernel, gen, offsets=False),
        }
    found["unknown on g45"] = _findings(Gen.EL, 0x7C000004)
    found["unknown on toy"] = _findings(Gen.TOY, 0x7B000004)
    print(json.dumps(found))


def _findings(gen: Gen, header: int) -> list[str]:
    """The report of the command streamer about a primitive with another generation's header."""
    made = Scene(gen)
    made.run(header.to_bytes(4, "little") + bytes(20))
    return list(made.device.findings.count)


if __name__ == "__main__":
    main()
