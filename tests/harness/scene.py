"""A small 3D scene for tests: batches made with the builders, kernels with the assembler, run on a whole Device.

Vertices are tuples of floats: x, y, z, rhw in screen space, then attributes, padded to whole rows of eight.  Every
state block can be changed by keyword: `Scene(GEN, cc={"depth_test_enable": True})`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import SurfaceType, TileWalk
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.messages import SCALAR_INVERSE, WRITE_8, urb_write

STATE, SURFACES, KERNELS, CONSTANTS = 0x20000, 0x28000, 0x30000, 0x90000
BATCH, VERTICES, INDICES, DEPTH, TARGET = 0x400000, 0x1000000, 0x3000000, 0x4000000, 0x8000000  # with room for much
_DEPTH_ONLY = 0x50000  # a WM_STATE
_CLEARED_BYTES = 1 << 20  # of the target; what nothing has written reads as zeros anyway
DEVICES = {Gen.CL: BY_NAME["965gm"], Gen.CTG: BY_NAME["gm45"]}


def setup_kernel(registers: int, gen: Gen, *, transpose: bool = True) -> bytes:
    """Planes of every scalar of `registers` rows of each of three vertices.

    Transposing writes store them attribute by attribute, others coefficient by coefficient.
    """
    lines = [f"send(1) 0 g60<1>F g1.2<0,1,0>F {SCALAR_INVERSE} math {{ align1 }};"]
    for r in range(registers):
        a0, a1, a2 = (f"g{3 + v * registers + r}<8,8,1>F" for v in range(3))
        last = r == registers - 1
        swizzle, rows = ("TRANSPOSE", 4) if transpose else ("NONE", 3)
        planes = urb_write(4, swizzle=swizzle, end=last, offset=rows * r)
        lines += [
            f"add(8) g61<1>F {a1} -{a0} {{ align1 }};",
            f"add(8) g62<1>F {a2} -{a0} {{ align1 }};",
            "mul(8) g63<1>F g61<8,8,1>F g1.6<0,1,0>F { align1 };",
            "mul(8) g64<1>F g62<8,8,1>F g1.5<0,1,0>F { align1 };",
            "add(8) g63<1>F g63<8,8,1>F -g64<8,8,1>F { align1 };",
            "mul(8) m1<1>F g63<8,8,1>F g60<0,1,0>F { align1 };",
            "mul(8) g63<1>F g62<8,8,1>F g1.3<0,1,0>F { align1 };",
            "mul(8) g64<1>F g61<8,8,1>F g1.4<0,1,0>F { align1 };",
            "add(8) g63<1>F g63<8,8,1>F -g64<8,8,1>F { align1 };",
            "mul(8) m2<1>F g63<8,8,1>F g60<0,1,0>F { align1 };",
            f"mov(8) m3<1>F {a0} {{ align1 }};",
            f"send(8) 0 null<1>F g0<8,8,1>F {planes} urb {{ align1{' EOT' if last else ''} }};",
        ]
    return assemble("\n".join(lines), gen)


def pixel_kernel(gen: Gen, first_attribute: int = 8, start: int = 4) -> bytes:
    """SIMD8: red, green, blue and alpha are four attributes, interpolated without perspective."""
    lines = [
        "add(8) g50<1>UW g1.4<2,4,0>UW 0x10101010V { align1 };",
        "add(8) g51<1>UW g1.5<2,4,0>UW 0x11001100V { align1 };",
        "mov(8) g52<1>F g50<8,8,1>UW { align1 };",
        "mov(8) g53<1>F g51<8,8,1>UW { align1 };",
        "add(8) g52<1>F g52<8,8,1>F -g1<0,1,0>F { align1 };",
        "add(8) g53<1>F g53<8,8,1>F -g1.1<0,1,0>F { align1 };",
    ]
    for i in range(4):
        attribute = first_attribute + i
        reg, sub = start + attribute // 2, 4 * (attribute % 2)
        lines += [
            f"line(8) null<1>F g{reg}.{sub}<0,1,0>F g52<8,8,1>F {{ align1 }};",
            f"mac(8) m{2 + i}<1>F g{reg}.{sub + 1}<0,1,0>F g53<8,8,1>F {{ align1 }};",
        ]
    lines += ["mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };",
              f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};"]
    return assemble("\n".join(lines), gen)


class Scene:
    """One render target, an optional depth buffer, pass-through VS, no GS, no CLIP unless asked for."""

    def __init__(self, gen: Gen = Gen.CTG, width: int = 32, height: int = 32, *, rows: int = 2,
                 format: SurfaceFormat = SurfaceFormat.B8G8R8A8_UNORM, tiling: Tiling = Tiling.LINEAR,
                 options: Options | None = None, depth_format: int | None = None, depth_clear: int = 0,
                 **blocks: dict[str, Any]) -> None:
        self.gen, self.width, self.height, self.rows = gen, width, height, rows
        self.format, self.tiling, self.blocks = format, tiling, blocks
        self.depth_format = depth_format
        self.device = Device(DEVICES[gen], options or Options(workers=1))
        self.memory = self.device.memory
        info = format_info(format)
        assert info is not None
        self.cpp = info.block_bits // 8
        self.pitch = (width * self.cpp + 511) // 512 * 512
        self.memory.write(TARGET, bytes(min(self.pitch * ((height + 31) // 32 * 32), _CLEARED_BYTES)))
        self.depth_bytes = 2 if depth_format == 5 else 4
        self.depth_pitch = (width * self.depth_bytes + 127) // 128 * 128
        if depth_format is not None:
            pixel = depth_clear.to_bytes(self.depth_bytes, "little")
            count = self.depth_pitch // self.depth_bytes * ((height + 31) // 32 * 32)
            self.memory.write(DEPTH, pixel * count)
        self.memory.write(KERNELS, setup_kernel(rows, gen))
        self.pixel_kernel = pixel_kernel(gen)

    def _block(self, name: str, key: str, address: int, **fields: Any) -> None:
        fields |= self.blocks.get(key, {})
        self.memory.write(address, block_named(name, self.gen).build(self.gen, **fields))

    def _command(self, name: str, **fields: Any) -> bytes:
        return command_named(name, self.gen).build(self.gen, **fields)

    def _write_state(self) -> None:
        self.memory.write(KERNELS + 0x1000, self.pixel_kernel)
        self._block("VS_STATE", "vs", STATE, urb_entry_allocation_size=self.rows, number_of_urb_entries=8)
        if "gs" in self.blocks:
            self._block("GS_STATE", "gs", STATE + 0x400)
        if "clip" in self.blocks:
            self._block("CLIP_STATE", "clip", STATE + 0x500, clipper_viewport_state_pointer=STATE + 0x600)
            self._block("CLIP_VIEWPORT", "clip_viewport", STATE + 0x600)
        self._block("SF_STATE", "sf", STATE + 0x40,
            kernel_start_pointer=KERNELS, grf_register_count=128, dispatch_grf_start_register=3,
            vertex_urb_entry_read_length=self.rows, urb_entry_allocation_size=2 * self.rows, number_of_urb_entries=8,
            maximum_number_of_threads=8, setup_viewport_state_offset=STATE + 0x200, cull_mode="NONE",
            destination_origin_horizontal_bias=0.5, destination_origin_vertical_bias=0.5, use_point_width_state=True,
            point_width=1.0, line_width=1.0)
        self._block("SF_VIEWPORT", "sf_viewport", STATE + 0x200)
        self._block("WM_STATE", "wm", STATE + 0x80,
            kernel_start_pointer=KERNELS + 0x1000, grf_register_count=128, dispatch_grf_start_register=4,
            setup_urb_entry_read_length=4 * self.rows, depth_coefficient_urb_read_offset=3,
            maximum_number_of_threads=32, thread_dispatch_enable=True, early_depth_test_enable=True,
            dispatch_8_pixel_enable=True)
        self._block("COLOR_CALC_STATE", "cc", STATE + 0x100, color_calculator_viewport_state_pointer=STATE + 0x300)
        self._block("CC_VIEWPORT", "cc_viewport", STATE + 0x300, minimum_depth=0.0, maximum_depth=1.0)
        tiled = self.tiling is not Tiling.LINEAR
        surface: dict[str, Any] = {
            "surface_type": SurfaceType.SURFTYPE_2D, "surface_format": self.format, "width": self.width,
            "height": self.height, "depth": 1, "surface_pitch": self.pitch, "surface_base_address": TARGET,
            "tiled_surface": tiled, "tile_walk": TileWalk.YMAJOR if self.tiling is Tiling.Y else TileWalk.XMAJOR,
            "render_target_view_extent": 1} | self.blocks.get("surface", {})
        self.memory.write(SURFACES, block_named("SURFACE_STATE", self.gen).build(self.gen, **surface))
        self.memory.write(SURFACES + 0x400, struct.pack("<I", SURFACES))

    def state_commands(self) -> bytes:
        """Everything but the vertices."""
        gs, clip = "gs" in self.blocks, "clip" in self.blocks
        depth = self._command("3DSTATE_DEPTH_BUFFER", surface_type=7)
        if self.depth_format is not None:
            depth = self._command("3DSTATE_DEPTH_BUFFER", **{
                "surface_type": 1, "surface_format": self.depth_format, "surface_pitch": self.depth_pitch,
                "surface_base_address": DEPTH, "width": self.width, "height": self.height, "depth": 1,
                "tiled_surface": True, "tile_walk": 1} | self.blocks.get("depth", {}))
        pointers: dict[str, Any] = {
            "pointer_to_vs_state": STATE, "pointer_to_sf_state": STATE + 0x40, "pointer_to_wm_state": STATE + 0x80,
            "pointer_to_color_calc_state": STATE + 0x100}
        if gs:
            pointers |= {"pointer_to_gs_state": STATE + 0x400, "gs_enable": True}
        if clip:
            pointers |= {"pointer_to_clip_state": STATE + 0x500, "clip_enable": True}
        return b"".join([
            self._command("STATE_BASE_ADDRESS", **{f"{base}_modify_enable": True for base in (
                "general_state_base_address", "surface_state_base_address", "indirect_object_base_address",
                "general_state_access_upper_bound", "indirect_object_access_upper_bound")}),
            self._command("3DSTATE_PIPELINED_POINTERS", **pointers),
            self._command("3DSTATE_BINDING_TABLE_POINTERS", pointer_to_ps_binding_table=SURFACES + 0x400),
            self._command("3DSTATE_DRAWING_RECTANGLE", **{
                "clipped_drawing_rectangle_x_max": self.width - 1,
                "clipped_drawing_rectangle_y_max": self.height - 1} | self.blocks.get("rectangle", {})),
            depth, *(self._command(name, **fields) for name, fields in self.blocks.get("commands", {}).items())])

    def draw(self, vertices: Sequence[Sequence[float]], topology: PrimitiveTopology = PrimitiveTopology.TRILIST,
             indices: Sequence[int] | None = None, **primitive: Any) -> None:
        """Write state and vertices, run a batch with one primitive."""
        batch = self.prepare(vertices, indices, primitive.pop("cut_index_enable", False))
        count = len(vertices) if indices is None else len(indices)
        self.run(batch + self.primitive(topology, count, indexed=indices is not None, **primitive))

    def prepare(self, vertices: Sequence[Sequence[float]], indices: Sequence[int] | None = None,
                cut_index_enable: bool = False) -> bytes:
        """Write state, vertices and indices: the batch up to the primitives."""
        self._write_state()
        stride = 4 * (8 * self.rows - 4)
        data = b"".join(struct.pack(f"<{stride // 4}f", *v, *[0.0] * (stride // 4 - len(v))) for v in vertices)
        self.memory.write(VERTICES, data)
        batch = self.state_commands()
        batch += self._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"buffer_pitch": stride, "buffer_starting_address": VERTICES} | self.blocks.get("vertices", {})])
        batch += self._command("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
            {"valid": True, "source_element_format": SurfaceFormat.R32G32B32A32_FLOAT,
             "source_element_offset": 16 * i, "destination_element_offset": 4 + 4 * i,
             **{f"component_{c}_control": 1 for c in range(4)}} for i in range(stride // 16)])
        if indices is not None:
            self.memory.write(INDICES, struct.pack(f"<{len(indices)}I", *indices))
            batch += self._command("3DSTATE_INDEX_BUFFER", index_format=2, buffer_starting_address=INDICES,
                                   cut_index_enable=cut_index_enable)
        return batch

    def primitive(self, topology: int, count: int, indexed: bool = False, **fields: Any) -> bytes:
        return self._command("3DPRIMITIVE", **{
            "primitive_topology_type": topology, "vertex_count_per_instance": count, "instance_count": 1,
            "vertex_access_type": int(indexed)} | fields)

    def run(self, batch: bytes) -> None:
        self.memory.write(BATCH, batch + self._command("MI_BATCH_BUFFER_END"))
        self.device.run_batch(BATCH)

    def pixels(self) -> list[list[int]]:
        """The render target as raw numbers."""
        layout = SurfaceLayout(TARGET, self.pitch, self.width, self.height, self.cpp, self.tiling)
        return _rows(layout.read(self.memory), self.width, self.cpp)

    def pixel(self, x: int, y: int) -> int:
        """One of them, of a target too large to look at whole."""
        tiling = {Tiling.LINEAR: lib.G4_TILING_LINEAR, Tiling.X: lib.G4_TILING_X, Tiling.Y: lib.G4_TILING_Y}
        offset = lib.g4_tiling_offset(tiling[self.tiling], self.pitch, x * self.cpp, y)
        return int.from_bytes(self.peek(TARGET + offset, self.cpp), "little")

    def depths(self) -> list[list[int]]:
        layout = SurfaceLayout(DEPTH, self.depth_pitch, self.width, self.height, self.depth_bytes, Tiling.Y)
        return _rows(layout.read(self.memory), self.width, self.depth_bytes)

    def lit(self) -> set[tuple[int, int]]:
        """The (x, y) that are not zero."""
        return {(x, y) for y, row in enumerate(self.pixels()) for x, value in enumerate(row) if value}

    def peek(self, address: int, size: int) -> bytes:
        return self.memory.read(address, size, Missing.ZERO)


def _rows(data: bytes | bytearray, width: int, cpp: int) -> list[list[int]]:
    values = [int.from_bytes(data[i:i + cpp], "little") for i in range(0, len(data), cpp)]
    return [values[i:i + width] for i in range(0, len(values), width)]


def vertex(x: float, y: float, z: float = 0.0, rhw: float = 1.0,
           color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)) -> tuple[float, ...]:
    """A position (attributes 4 to 7 of the setup entry) and a color (attributes 8 to 11)."""
    return (x, y, z, rhw, *color)


def draw(scene: Scene, side: float, times: int) -> None:
    corners = [vertex(0.0, 0.0, color=(1.0, 0.0, 0.0, 1.0)), vertex(side, 0.0, color=(0.0, 1.0, 0.0, 1.0)),
               vertex(side, side, color=(0.0, 0.0, 1.0, 1.0))]
    scene.run(scene.prepare(corners) + scene.primitive(PrimitiveTopology.TRILIST, 3) * times)


def depth_only(scene: Scene) -> bytes:
    """Switch to the state of a draw without threads, and so without colors."""
    scene._block("WM_STATE", "depth only", _DEPTH_ONLY, early_depth_test_enable=True, setup_urb_entry_read_length=8,
                 depth_coefficient_urb_read_offset=3, maximum_number_of_threads=32)
    return scene._command("3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=STATE, pointer_to_sf_state=STATE + 0x40,
                          pointer_to_wm_state=_DEPTH_ONLY, pointer_to_color_calc_state=STATE + 0x100)
