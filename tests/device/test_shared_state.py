"""Draws that share the state of the draw before, but for vertices, indices and constants: each has its own of these."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.canvas_gen7 import DYNAMIC, KERNEL, SURFACES, VERTICES, Canvas7, send
from tests.harness.commands import DATA, Words, command
from tests.harness.device_contents import everything, joined_draws
from tests.harness.messages import WRITE_8
from tests.harness.scene import CONSTANTS, DEPTH, INDICES, STATE, TARGET, Scene, depth_only, vertex
from tests.harness.scene import VERTICES as SCENE_VERTICES
from tests.harness.tessellation import DOMAIN, PATCHES_OF_3, TRI, hull

SIDE = 96  # of targets: nine tiles
DRAWS = 7
MISSING = 0x2000000

Build = Callable[[Scene], bytes]


# ---- before Gen6 ----

def run(build: Build, options: Options, blocks: dict[str, Any]) -> tuple[dict[str, Any], int]:
    scene = Scene(options=options, width=SIDE, height=SIDE, **blocks)
    scene.device._finds_targets = False
    scene.run(build(scene))
    return everything(scene.device), joined_draws(scene.device)


def followers(build: Build, **blocks: Any) -> int:
    """How many draws share the state of the one before; all ends as if none did, for any number of workers."""
    apart, none = run(build, Options(workers=1, draws_apart=True), blocks)
    assert none == 0
    end, found = run(build, Options(workers=1), blocks)
    assert end == apart
    for workers in (2, 3):
        end, joined = run(build, Options(workers=workers), blocks)
        assert end == apart
        assert joined >= found
    return found


def triangle(i: int) -> list[tuple[float, ...]]:
    """A large one that covers most of the others, of another color."""
    color = (i / DRAWS, 1 - i / DRAWS, 0.5, 0.5)
    return [vertex(2.0 + i, 3.0 * i, 0.5, 1.0, color), vertex(90.0, 5.0 + i, 0.4, 1.0, color),
            vertex(40.0 - i, 93.0 - i, 0.6, 1.0, color)]


STRIDE = 48  # of the vertices of Scene


def draws(scene: Scene, before: Callable[[int], bytes], **primitive: Any) -> bytes:
    batch = scene.prepare([corner for i in range(DRAWS) for corner in triangle(i)], primitive.pop("indices", None))
    return batch + b"".join(before(i) + scene.primitive(PrimitiveTopology.TRILIST, 3, **primitive)
                            for i in range(DRAWS))


def vertex_buffer(scene: Scene, address: int) -> bytes:
    return scene._command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
        {"buffer_pitch": STRIDE, "buffer_starting_address": address}])


def nth_buffer(scene: Scene, i: int) -> bytes:
    return vertex_buffer(scene, SCENE_VERTICES + 3 * STRIDE * i)


def test_each_draw_has_its_vertex_buffer() -> None:
    assert followers(lambda scene: draws(scene, lambda i: nth_buffer(scene, i))) == DRAWS - 1


def test_each_draw_has_its_indices() -> None:
    def indices(scene: Scene, i: int) -> bytes:
        return scene._command("3DSTATE_INDEX_BUFFER", index_format=2, buffer_starting_address=INDICES + 12 * i)

    assert followers(lambda scene: draws(scene, lambda i: indices(scene, i), indexed=True,
                                         indices=[2, 0, 1, *range(3, 3 * DRAWS)]),
                     vertices={"max_index": 3 * DRAWS - 1}) == DRAWS - 1


FLAT = """
mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };
mov(8) m2<1>F g4<0,1,0>F { align1 };
mov(8) m3<1>F g4.1<0,1,0>F { align1 };
mov(8) m4<1>F g4.2<0,1,0>F { align1 };
mov(8) m5<1>F g4.3<0,1,0>F { align1 };
""" + f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};"


def colors(scene: Scene) -> None:
    """Pixels get the first four constants: each draw another color, which no thread but the first computes."""
    scene.pixel_kernel = assemble(FLAT, Gen.CTG)
    scene.memory.write(CONSTANTS, b"".join(struct.pack("<4f48x", i / DRAWS, 1 - i / DRAWS, 0.25, 1.0)
                                           for i in range(DRAWS)))


def constants(scene: Scene, address: int) -> bytes:
    return scene._command("CONSTANT_BUFFER", valid=True, buffer_starting_address=address, buffer_length=1)


WITH_CONSTANTS: dict[str, Any] = {"wm": {"constant_urb_entry_read_length": 1}}


@pytest.mark.parametrize("cc", [{}, {"color_buffer_blend_enable": True, "source_blend_factor": "CONST_COLOR",
                                     "destination_blend_factor": "ONE"}], ids=["replace", "blend"])
def test_each_draw_has_its_constants(cc: dict[str, Any]) -> None:
    def build(scene: Scene) -> bytes:
        colors(scene)
        return draws(scene, lambda i: nth_buffer(scene, i) + constants(scene, CONSTANTS + 64 * i))

    assert followers(build, cc=cc, **WITH_CONSTANTS) == DRAWS - 1
    scene = Scene(width=SIDE, height=SIDE, **WITH_CONSTANTS)
    scene.run(build(scene))
    assert len({pixel for row in scene.pixels() for pixel in row}) == DRAWS + 1  # and the background


def test_state_that_is_set_again_is_shared_unless_it_changes() -> None:
    def rectangle(scene: Scene, right: int) -> bytes:
        return scene._command("3DSTATE_DRAWING_RECTANGLE", clipped_drawing_rectangle_x_max=right,
                              clipped_drawing_rectangle_y_max=SIDE - 1)

    assert followers(lambda scene: draws(scene, lambda i: rectangle(scene, SIDE - 1) + nth_buffer(scene, i))) == 6
    assert followers(lambda scene: draws(scene, lambda i: rectangle(scene, 50 + i // 3) + nth_buffer(scene, i))) == 4


def test_a_draw_of_another_topology_is_loaded() -> None:
    def build(scene: Scene) -> bytes:
        batch = scene.prepare([corner for i in range(4) for corner in triangle(i)])
        return batch + b"".join(scene.primitive(topology, 6, start_vertex_location=3 * (i % 3)) for i, topology in (
            enumerate(2 * (PrimitiveTopology.TRILIST, PrimitiveTopology.TRISTRIP, PrimitiveTopology.TRISTRIP))))

    assert followers(build) == 4  # of 6: Python executes the first command of each topology


DEPTH_TEST = {"depth_test_enable": True, "depth_test_function": "ALWAYS", "depth_buffer_write_enable": True}


def test_state_that_was_written_is_read_again() -> None:
    """By a command, between two draws of which the second one would share it."""
    def write(scene: Scene, i: int) -> bytes:
        viewport = STATE + 0x300  # its depths
        if i != 3:
            return b""
        return scene._command("PIPE_CONTROL", post_sync_operation=1, destination_address=viewport,
                              immediate_data_low=0x3F000000, immediate_data_high=0x3F800000)

    assert followers(lambda scene: draws(scene, lambda i: write(scene, i) + nth_buffer(scene, i)), cc=DEPTH_TEST,
                     depth_format=1) == 5


def test_bad_state_is_reported_for_each_draw() -> None:
    def build(scene: Scene) -> bytes:
        return draws(scene, lambda i: nth_buffer(scene, i))

    assert followers(build, cc=DEPTH_TEST, depth_format=6) == DRAWS - 1
    scene = Scene(cc=DEPTH_TEST, depth_format=6)
    scene.run(build(scene))
    assert [(event.kind, event.count) for event in scene.device.events()] == [(lib.G4_EVENT_BAD_FORMAT, DRAWS)]


def test_bad_state_is_reported_where_it_was_when_the_draw_started() -> None:
    def build(scene: Scene) -> bytes:
        batch = scene.prepare(triangle(0))
        other = STATE + 0x1000
        scene.memory.write(other, scene.peek(STATE + 0x100, 64))
        pointers = [scene._command("3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=STATE,
                                   pointer_to_sf_state=STATE + 0x40, pointer_to_wm_state=STATE + 0x80,
                                   pointer_to_color_calc_state=address) for address in (STATE + 0x100, other)]
        draw = scene.primitive(PrimitiveTopology.TRILIST, 3)
        good = scene._command("3DSTATE_DEPTH_BUFFER", surface_type=7)
        bad = scene._command("3DSTATE_DEPTH_BUFFER", surface_type=1, surface_format=6, surface_pitch=384,
                             surface_base_address=DEPTH, width=SIDE, height=SIDE, depth=1, tiled_surface=True,
                             tile_walk=1)
        return batch + good + pointers[0] + draw + pointers[1] + draw + bad + pointers[0] + draw + pointers[1] + draw

    assert followers(build, cc=DEPTH_TEST) == 0


@pytest.mark.parametrize("blocks", [
    {"cc": DEPTH_TEST | {"color_calculator_viewport_state_pointer": MISSING}, "depth_format": 1},
    {"sf": {"setup_viewport_state_offset": MISSING, "scissor_rectangle_enable": True}},
], ids=["depth", "scissor"])
def test_missing_state_is_reported_for_each_draw(blocks: dict[str, Any]) -> None:
    assert followers(lambda scene: draws(scene, lambda i: nth_buffer(scene, i)), **blocks) == 0


def test_a_missing_binding_table_is_reported_for_each_draw() -> None:
    """Of draws without threads, which find their depth buffer by it."""
    def build(scene: Scene) -> bytes:
        batch = scene.prepare([corner for i in range(DRAWS) for corner in triangle(i)])
        batch += depth_only(scene) + scene._command(
            "3DSTATE_DEPTH_BUFFER", surface_type=1, surface_format=1, surface_pitch=scene.depth_pitch,
            surface_base_address=DEPTH, width=SIDE, height=SIDE, depth=1, tiled_surface=True, tile_walk=1,
            depth_buffer_coordinate_offset_disable=True) + scene._command(
                "3DSTATE_BINDING_TABLE_POINTERS", pointer_to_ps_binding_table=MISSING)
        return batch + b"".join(nth_buffer(scene, i) + scene.primitive(PrimitiveTopology.TRILIST, 3)
                                for i in range(DRAWS))

    blocks = {"gen": Gen.CL, "cc": DEPTH_TEST, "depth_format": 1}
    apart, _ = run(build, Options(workers=1, draws_apart=True), blocks)
    assert run(build, Options(workers=1), blocks) == (apart, 0)


@pytest.mark.parametrize("what", [lambda scene: vertex_buffer(scene, TARGET),
                                  lambda scene: constants(scene, TARGET + 256)], ids=["vertices", "constants"])
def test_inputs_that_a_waiting_draw_writes_are_those_after_it(what: Callable[[Scene], bytes]) -> None:
    def build(scene: Scene) -> bytes:
        colors(scene)
        return draws(scene, lambda i: (what(scene) if i == 4 else nth_buffer(scene, i)
                                       + constants(scene, CONSTANTS + 64 * i)))

    assert followers(build, **WITH_CONSTANTS) in (4, 5)


def test_reads_of_missing_vertices_are_reported_for_each_draw() -> None:
    assert followers(lambda scene: draws(scene, lambda i: vertex_buffer(scene, MISSING) if i in (3, 4, 5)
                                         else nth_buffer(scene, i))) == 2


def test_a_large_draw_follows_in_a_batch_of_its_own() -> None:
    """Its objects are too many to wait together with others."""
    def build(scene: Scene) -> bytes:
        count = 3 * 3000
        batch = scene.prepare([vertex(i % 90, i % 80, 0.5, 1.0, (i % 7 / 7, 0.5, 0.25, 1.0)) for i in range(count)])
        return batch + b"".join(scene.primitive(PrimitiveTopology.TRILIST, n, start_vertex_location=first)
                                for n, first in (
                                    (3, 0), (6, 3), (count, 0), (3, 9), (count, 0), (count - 60, 60)))

    assert followers(build) == 3


def test_a_vertex_count_that_a_waiting_draw_writes_is_that_after_it() -> None:
    def build(scene: Scene) -> bytes:
        zero, three = ([vertex(x, y, color=(0.0, 0.0, blue / 255, 0.0))  # its pixels are this number
                        for x, y in ((-200.0, 0.0), (200.0, 0.0), (40.0, 300.0))] for blue in (0, 3))
        batch = scene.prepare([*zero, *three, *triangle(3)])
        first, second = (scene.primitive(PrimitiveTopology.TRILIST, 3, start_vertex_location=start) for start in (0, 3))
        indirect = scene.primitive(PrimitiveTopology.TRILIST, 0, indirect_vertex_count=True,
                                   vertex_count_address=TARGET, start_vertex_location=6)
        return batch + indirect + first + second + indirect  # Python executes the first one

    assert followers(build) == 1
    scene = Scene(width=SIDE, height=SIDE)
    scene.run(build(scene))
    assert scene.pixel(0, 0) == 3
    assert scene.pixel(40, 30) != 3


# ---- from Gen7 on ----

CHIPS = ["ivb", "hsw", "kbl"]
SOURCE = DYNAMIC + 0x400  # of constants
COLOR = "".join(f"mov(8) g{120 + i}<1>F {source}<0,1,0>F {{ align1 1Q }};\n"
                for i, source in enumerate(("g2", "g2.1", "g2.2", "g3")))  # g3 has a second row, or an attribute


class Canvas:
    """Two targets of nine tiles, each in a table of its own.  Pixels get the color in the push constants."""

    other_table = 0x800

    def __init__(self, name: str, **options: Any) -> None:
        self.canvas = canvas = Canvas7(name, ("R8G8B8A8_UNORM", "R8G8B8A8_UNORM"), **options)
        canvas.device._finds_targets = False
        canvas.surface(0, surface_format="R8G8B8A8_UNORM", width=SIDE, height=SIDE, surface_pitch=4 * SIDE)
        canvas.draw(COLOR + send(canvas.write()), x2=SIDE, y2=SIDE, commands={
            "3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": SIDE - 1,
                                          "clipped_drawing_rectangle_y_max": SIDE - 1},
            "3DSTATE_PS": {"push_constant_enable": True,
                           "dispatch_grf_start_register_for_constant_setup_data_0": 2}})
        canvas.device.memory.write(SURFACES + self.other_table, canvas.device.memory.read(SURFACES + 4, 4))
        for i in range(DRAWS):
            canvas.device.memory.write(SOURCE + 32 * i, struct.pack("<8f", i / DRAWS, 1 - i / DRAWS, 0.5, *[0] * 5))
            canvas.device.memory.write(VERTICES + 0x400 + 96 * i, b"".join(
                struct.pack("<4I4f", 0, 0, 0, 0, *corner, 0.5, 1.0)
                for corner in ((60 + 3 * i, 50 + 5 * i), (2 * i, 50 + 5 * i), (2 * i, 4 * i))))

    def constants(self, address: int, rows: int = 1) -> list[Words]:
        gen = self.canvas.gen
        found = [command("3DSTATE_CONSTANT_PS", gen, constant_buffer_2_read_length=rows,
                         pointer_to_constant_buffer_2=address)]
        if gen & Gen.GEN9:  # which makes them those of the next draw
            found.append(command("3DSTATE_BINDING_TABLE_POINTERS_PS", gen, pointer_to_ps_binding_table=0))
        return found

    def vertices(self, address: int) -> Words:
        end = {"buffer_size": 96} if self.canvas.gen & Gen.GEN9 else {"end_address": address + 95}
        return command("3DSTATE_VERTEX_BUFFERS", self.canvas.gen, vertex_buffers=[
            {"address_modify_enable": True, "buffer_pitch": 32, "buffer_starting_address": address, **end}])

    def primitive(self, kind: int = PrimitiveTopology.RECTLIST) -> Words:
        topology = {} if self.canvas.gen & Gen.GEN9 else {"primitive_topology_type": kind}
        return command("3DPRIMITIVE", self.canvas.gen, vertex_count_per_instance=3, instance_count=1, **topology)

    def draws(self, before: Callable[[int], list[Words]] = lambda _: []) -> list[Words]:
        return [word for i in range(DRAWS) for word in (
            *self.constants(SOURCE + 32 * i), self.vertices(VERTICES + 0x400 + 96 * i), *before(i), self.primitive())]


def later_followers(name: str, build: Callable[[Canvas], list[Words]]) -> int:
    """As `followers`."""
    ends, joined = [], []
    for options in ({"workers": 1, "draws_apart": True}, {"workers": 1}, {"workers": 2}, {"workers": 3}):
        canvas = Canvas(name, **options)
        for _ in range(2):  # Python executes commands with a new header
            before = joined_draws(canvas.canvas.device)
            canvas.canvas.run(*build(canvas))
        ends.append(everything(canvas.canvas.device))
        joined.append(joined_draws(canvas.canvas.device) - before)
    assert all(end == ends[0] for end in ends)
    assert joined[0] == 0
    assert joined[1] <= joined[2] == joined[3]
    return joined[1]


@pytest.mark.parametrize("name", CHIPS)
def test_each_later_draw_has_its_vertices_and_constants(name: str) -> None:
    assert later_followers(name, lambda canvas: canvas.draws()) == DRAWS - 1
    canvas = Canvas(name)
    canvas.canvas.run(*canvas.draws())
    image = canvas.canvas.device.memory.read(canvas.canvas.address(0), 4 * SIDE * SIDE)
    assert len(set(struct.unpack(f"<{SIDE * SIDE}I", image))) >= DRAWS + 1


@pytest.mark.parametrize("name", CHIPS)
def test_a_later_draw_with_other_state_is_loaded(name: str) -> None:
    def mask(canvas: Canvas, i: int) -> list[Words]:
        return [command("3DSTATE_SAMPLE_MASK", canvas.canvas.gen, sample_mask=0 if i in (2, 3) else 1)]

    assert later_followers(name, lambda canvas: canvas.draws(lambda i: mask(canvas, i))) == 4


@pytest.mark.parametrize("name", CHIPS)
def test_a_later_draw_with_more_constants_is_loaded(name: str) -> None:
    """Attributes come after them in the payload."""
    def build(canvas: Canvas) -> list[Words]:
        return canvas.draws(lambda i: canvas.constants(SOURCE, 2) if i == 3 else [])

    assert later_followers(name, build) == DRAWS - 1  # it joins nevertheless


@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("place", ["target", "missing"])
def test_constants_of_a_later_draw_that_are_written_or_missing(name: str, place: str) -> None:
    def build(canvas: Canvas) -> list[Words]:
        address = MISSING if place == "missing" else canvas.canvas.address(0) + 4 * SIDE * 30
        return canvas.draws(lambda i: canvas.constants(address) if i == 4 else [])

    assert later_followers(name, build) == (5 if place == "missing" else 4)


@pytest.mark.parametrize("name", CHIPS)
def test_a_later_draw_reads_constants_that_a_command_has_written(name: str) -> None:
    def write(canvas: Canvas, i: int) -> list[Words]:
        if i != 3:
            return []
        one_and_half = {"immediate_data": 0x3F0000003F800000} if canvas.canvas.gen & Gen.GEN9 else {
            "immediate_data_low": 0x3F800000, "immediate_data_high": 0x3F000000}
        return [command("PIPE_CONTROL", canvas.canvas.gen, post_sync_operation=1, address=DATA, **one_and_half),
                *canvas.constants(DATA)]

    assert later_followers(name, lambda canvas: canvas.draws(lambda i: write(canvas, i))) == 5


@pytest.mark.parametrize("name", CHIPS)
def test_a_later_draw_with_another_target_is_loaded(name: str) -> None:
    def table(canvas: Canvas, i: int) -> list[Words]:
        return [command("3DSTATE_BINDING_TABLE_POINTERS_PS", canvas.canvas.gen,
                        pointer_to_ps_binding_table=canvas.other_table if i in (3, 4) else 0)]

    def build(canvas: Canvas) -> list[Words]:
        return canvas.draws(lambda i: table(canvas, i))

    assert later_followers(name, build) == (3 if name == "kbl" else 4)  # where `constants` sets the table, too
    canvas = Canvas(name)
    canvas.canvas.run(*build(canvas))
    assert canvas.canvas.image(1).any()


@pytest.mark.parametrize("name", ["ivb", "hsw"])
def test_a_patch_is_tessellated_after_a_rectangle(name: str) -> None:
    """Whether a draw is tessellated depends on its topology, which these parts have in 3DPRIMITIVE."""
    def build(canvas: Canvas) -> list[Words]:
        gen = canvas.canvas.gen
        for offset, text in ((0x1000, hull(2, 2, 2, 2)), (0x2000, DOMAIN)):
            canvas.canvas.device.memory.write(KERNEL + offset, assemble(text, gen))
        return [
            command("3DSTATE_URB_HS", gen, hs_urb_entry_allocation_size=4, hs_number_of_urb_entries=32),
            command("3DSTATE_URB_DS", gen, ds_urb_entry_allocation_size=1, ds_number_of_urb_entries=64),
            command("3DSTATE_HS", gen, enable=True, kernel_start_pointer=0x1000, statistics_enable=True,
                    include_vertex_handles=True, dispatch_grf_start_register_for_urb_data=5,
                    maximum_number_of_threads=16),
            command("3DSTATE_TE", gen, te_enable=True, maximum_tessellation_factor_odd=63.0,
                    maximum_tessellation_factor_not_odd=64.0, **TRI),
            command("3DSTATE_DS", gen, enable=True, kernel_start_pointer=0x2000, compute_w_coordinate_enable=True,
                    dispatch_grf_start_register_for_urb_data=2, maximum_number_of_threads=8),
            canvas.primitive(), canvas.primitive(PATCHES_OF_3), canvas.primitive(), canvas.primitive()]

    assert later_followers(name, build) == 1
    canvas = Canvas(name)
    canvas.canvas.run(*build(canvas), *build(canvas))
    assert canvas.canvas.register("HS_INVOCATION_COUNT") == 2
