"""Rules for surfaces, samplers and kernels (`gen4emu lint`), among them the deviations that shipped kernels live with.

Formats against what the units support (spec/50 2.3), alignment (spec/50 2.2), decision 26 as far as an instruction
shows it, and decision 34: combinations that this program does right and real G4x does not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gen4emu.decode.kernels import sends
from gen4emu.decode.nodes import Command, Kernel, KernelCode, State
from gen4emu.hw.formats import format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View
from gen4emu.hw.message_shapes import RENDER_TARGET_WRITE_SHAPES, expected_lengths, sampler_message
from gen4emu.hw.messages import DataPortWriteTypeGen45, SharedFunction, UrbSwizzle, message_for
from gen4emu.hw.sampler import MapFilter
from gen4emu.hw.surface import SurfaceType
from gen4emu.isa import instructions
from gen4emu.isa.instruction import Align1Region, DirectOperand, IndirectOperand, Instruction, Operand
from gen4emu.isa.registers import RegFile

if TYPE_CHECKING:
    from gen4emu.decode.lint import Linter


def block(lint: Linter, node: State) -> None:
    """A state block that is shown: one that was not before."""
    if node.same:
        return
    view = node.body.view
    if node.body.name == "SURFACE_STATE":
        _surface(lint, node, view)
    elif node.body.name == "SAMPLER_STATE" and view.min_lod > view.max_lod:
        lint.find(node, "sampler-lod", f"min_lod {view.min_lod:g} is above max_lod {view.max_lod:g}", "min_lod")


def _surface(lint: Linter, node: State, view: View) -> None:
    kind = view.raw("surface_type")
    if kind in (SurfaceType.SURFTYPE_NULL, SurfaceType.SURFTYPE_BUFFER):
        return
    base, pitch = int(view.surface_base_address), int(view.surface_pitch)
    info = format_info(view.raw("surface_format"))
    if view.tiled_surface:
        tile = 128 if view.raw("tile_walk") else 512
        if base % 4096:
            lint.find(node, "surface-alignment", f"tiled, at 0x{base:08x}", "surface_base_address", base)
        if pitch % tile:
            lint.find(node, "surface-pitch", f"pitch {pitch} is not a multiple of {tile}", "surface_pitch", pitch)
    if info is None:
        return
    row = -(-int(view.width) // info.block_width) * info.block_bits // 8
    if row > pitch and not node.role.startswith("media"):
        lint.find(node, "surface-pitch", f"pitch {pitch} is less than a row of {row} bytes", "surface_pitch", pitch)
    if "render target" in node.role:
        _target(lint, node, view)
    elif "texture" in node.role and not info.support.sample & lint.gen:
        lint.find(node, "sampler-format", f"{info.name} cannot be sampled", "surface_format", int(info.format))


def _target(lint: Linter, node: State, view: View) -> None:
    info = format_info(view.raw("surface_format"))
    if info is None:
        return
    code = int(info.format)
    if not info.support.render_target & lint.gen:
        lint.find(node, "target-format", f"{info.name} cannot be a render target", "surface_format", code)
    elif view.color_blend_enable and not info.support.blend & lint.gen:
        lint.find(node, "blend-format", f"{info.name} cannot be blended", "surface_format", code)
    if view.vertical_line_stride:
        lint.find(node, "target-line-stride", "render target writes ignore vertical_line_stride")


# --- kernels --------------------------------------------------------------------------------------------------------
def kernel(lint: Linter, node: Kernel) -> None:
    """Decision 26, and descriptors that no unit understands."""
    found: dict[tuple[str, str], list[int]] = {}
    for offset, send in sends(node.code.code, lint.gen):
        for finding in _message(send, lint.gen):
            found.setdefault(finding, []).append(offset)
    for (rule, text), offsets in found.items():
        places = ", ".join(f"0x{o:04x}" for o in offsets[:8]) + (", ..." if len(offsets) > 8 else "")
        lint.find(node, rule, f"send at {places}: {text}")


def _message(send: Instruction, gen: Gen) -> list[tuple[str, str]]:
    descriptor = send.descriptor
    if descriptor is None:
        return []
    found = []
    message = message_for(descriptor.bits)
    if message is None:
        return [("message", f"SFID {descriptor.sfid} does not exist")]
    view = message.view((descriptor.bits,), gen=gen)
    found += [("message", str(c)) for c in message.complaints((descriptor.bits,), gen=gen)]
    if descriptor.eot and not (isinstance(send.dst, DirectOperand) and send.dst.file is RegFile.ARF):
        found.append(("eot-destination", "ends the thread with a general register as its destination"))
    elif descriptor.eot and not _is_null(send):
        found.append(("eot-accumulator", "ends the thread with a destination that is not null"))
    if send.base_mrf == 0 and message.sfid != SharedFunction.EXTENDED_MATH:
        found.append(("message-at-m0", "builds its message at m0, which is reserved for the system routine"))
    length, response = expected_lengths(descriptor.bits, gen)
    if length is not None and length != descriptor.mlen:
        found.append(("message-length", f"sends {descriptor.mlen} registers; the message has {length}"))
    if response is not None and response != descriptor.rlen:
        found.append(("message-length", f"expects {descriptor.rlen} registers; the response has {response}"))
    if message.sfid == SharedFunction.SAMPLER and sampler_message(descriptor.bits, gen) is None:
        found.append(("message", f"no sampler message has type {view.message_type} and {descriptor.mlen} registers"))
    if message.sfid == SharedFunction.DATA_PORT_WRITE and view.message_type == DataPortWriteTypeGen45.RENDER_TARGET:
        shape = RENDER_TARGET_WRITE_SHAPES.get(view.render_target_write_type)
        if shape is not None and shape.may_have_more and \
                descriptor.mlen == shape.message_length(stencil_or_alpha=True):
            found.append(("alpha-without-depth", "stencil or antialias alpha without source depth"))
    if message.sfid == SharedFunction.URB and view.swizzle_control == UrbSwizzle.INTERLEAVED and descriptor.mlen == 2:
        found.append(("urb-half-row", "an interleaved URB write of one register writes half a row"))
    return found


def _is_null(send: Instruction) -> bool:
    dst = send.dst
    return isinstance(dst, DirectOperand) and dst.file is RegFile.ARF and dst.nr == 0


@lru_cache(maxsize=1024)
def reads_registers(code: KernelCode, gen: Gen, first: int, count: int) -> bool:
    """Whether an instruction of a kernel reads one of `count` general registers; an indirect operand may read any."""
    return any(_reads(source, first, count, inst.channels) for _, inst in instructions(code.code, gen)
               for source in (inst.src0, inst.src1))


def _reads(source: Operand | None, first: int, count: int, channels: int) -> bool:
    if isinstance(source, IndirectOperand):
        return source.file is RegFile.GRF
    if not isinstance(source, DirectOperand) or source.file is not RegFile.GRF:
        return False
    scalar = isinstance(source.region, Align1Region) and not source.region.vstride and not source.region.hstride
    registers = 2 if channels > 8 and not scalar else 1  # that one operand may cover
    return first - registers < source.nr < first + count


# --- what kernels do to surfaces ------------------------------------------------------------------------------------
class Shading:
    """The surfaces and samplers of each stage, and the messages of its kernel that bring them together."""

    def __init__(self, gen: Gen) -> None:
        self.gen = gen
        self.surfaces: dict[str, View] = {}  # "ps texture 0" by stage and index: "ps 0"
        self.samplers: dict[str, View] = {}
        self.changed = False
        self._pairs: dict[int, tuple[tuple[str, int, int], ...]] = {}

    def saw(self, node: State) -> None:
        """Roles are `ps texture 3`, `ps sampler` or `ps sampler 1`."""
        words = node.role.split()
        if node.body.name not in ("SURFACE_STATE", "SAMPLER_STATE") or not words:
            return
        index = words[-1] if words[-1].isdigit() else "0"
        known = self.surfaces if node.body.name == "SURFACE_STATE" else self.samplers
        known[f"{words[0]} {index}"] = node.body.view
        self.changed = True

    def check(self, lint: Linter, node: Command) -> None:
        """Each sampler message of the current kernels against its surface and sampler."""
        if not self.changed:
            return
        self.changed = False
        for stage, unit in lint.context.units.items():
            if unit.kernel is None:
                continue
            for name, table_index, sampler_index in self._messages(unit.kernel):
                surface = self.surfaces.get(f"{stage} {table_index}")
                sampler = self.samplers.get(f"{stage} {sampler_index}")
                if surface is not None:
                    self._pair(lint, node, f"{stage} texture {table_index}", name, surface, sampler)

    def _messages(self, code: KernelCode) -> tuple[tuple[str, int, int], ...]:
        found = self._pairs.get(code.number)
        if found is None:
            pairs = []
            for _, send in sends(code.code, self.gen):
                descriptor = send.descriptor
                message = None if descriptor is None else sampler_message(descriptor.bits, self.gen)
                layout = None if descriptor is None else message_for(descriptor.bits)
                if descriptor is not None and message is not None and layout is not None:
                    view = layout.view((descriptor.bits,), gen=self.gen)
                    pairs.append((message.name, int(view.binding_table_index), int(view.sampler_index)))
            found = self._pairs[code.number] = tuple(dict.fromkeys(pairs))
        return found

    def _pair(self, lint: Linter, node: Command, role: str, name: str, surface: View, sampler: View | None) -> None:
        kind = surface.raw("surface_type")
        if name.endswith("_c") and kind == SurfaceType.SURFTYPE_CUBE:
            lint.find(node, "shadow-cube", f"{role}: {name} of a cube; real G4x returns wrong data")
        if name == "ld" and kind == SurfaceType.SURFTYPE_3D and surface.mip_count_or_lod:
            lint.find(node, "ld-3d-mipmap", f"{role}: ld of a mipmapped 3D surface; real G4x returns wrong data at "
                                            "level >= 1, slice >= 1")
        info = format_info(surface.raw("surface_format"))
        if info is None or sampler is None or name in ("ld", "resinfo"):
            return
        if name.endswith("_c") and not info.support.shadow & self.gen:
            lint.find(node, "shadow-format", f"{role}: {name} of {info.name}, which cannot be compared")
        filters = {sampler.raw("mag_mode_filter"), sampler.raw("min_mode_filter")}
        if filters & {MapFilter.LINEAR, MapFilter.ANISOTROPIC} and not info.support.filter_on_silicon & self.gen:
            lint.find(node, "filter-format", f"{role}: {info.name} cannot be filtered")
