"""Exact counters of draws, blits and media objects: work and requested bytes of each unit (docs/counters.md).

The core sums them (native/eu/counters.h); they are the same for any number of workers and for every vector width.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from gen4emu._native import ffi, lib
from gen4emu.core_enums import CountedStage, SurfaceRole
from gen4emu.device.place import DrawKind, Place
from gen4emu.device.targets import Target

STAGES = tuple(stage.name.lower() for stage in CountedStage)
_TESSELLATION = ("hs", "ds")  # shown only if they run
FUNCTIONS = ("null", "math", "sampler", "gateway", "data_port_read", "data_port_write", "urb", "thread_spawner")
_ROLES: dict[int, str] = {role: role.name.lower().replace("_", " ") for role in SurfaceRole}
BLIT_SOURCE, BLIT_DESTINATION = "blit source", "blit destination"


@dataclass(slots=True, frozen=True)
class _Sums:
    """Values that are added member by member."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of(cls, raw: Any) -> Self:
        """From the core's struct, whose members have the same names."""
        return cls(**{f.name: int(getattr(raw, f.name)) for f in fields(cls)})


@dataclass(slots=True, frozen=True)
class Vertices(_Sums):
    """Vertex fetch and the vertex shader."""

    vertices: int = 0  # of the commands, as IA_VERTICES_COUNT has them
    primitives: int = 0  # as IA_PRIMITIVES_COUNT
    vertices_fetched: int = 0  # an index that comes back soon is not fetched again
    vertices_shaded: int = 0  # as VS_INVOCATION_COUNT


@dataclass(slots=True, frozen=True)
class Objects(_Sums):
    """Points, lines, triangles and rectangles, from the clipper to the setup."""

    assembled: int = 0  # that reach the clipper
    clip_discarded: int = 0  # dropped by it
    clipped: int = 0  # given to a thread of the clipper
    clip_output: int = 0  # that these threads emit
    objects: int = 0  # that reach SF: assembled - clip_discarded - clipped + clip_output
    not_a_number: int = 0  # dropped by SF for a NaN in a position
    degenerate: int = 0  # dropped for having no area or length
    culled: int = 0  # dropped by the cull mode
    outside: int = 0  # dropped because their bounds are outside of drawing rectangle or scissor
    no_pixel: int = 0  # dropped because they hold no sample point
    set_up: int = 0  # the others


@dataclass(slots=True, frozen=True)
class Fragments(_Sums):
    """Pixels of objects, from the windower to the render target."""

    blocks: int = 0  # 2x2 pixels, at least one of them lit
    fragments: int = 0  # lit pixels
    early_tested: int = 0  # against depth or stencil, before the pixel shader
    early_stencil_failed: int = 0
    early_depth_failed: int = 0
    without_shader: int = 0  # that passed where no pixel shader is dispatched
    shaded: int = 0  # that got into pixel shader threads
    ended: int = 0  # live in the render target write that ends these threads
    alpha_failed: int = 0
    late_tested: int = 0  # against depth or stencil, after the pixel shader
    late_stencil_failed: int = 0
    late_depth_failed: int = 0
    written: int = 0  # whose color went to a render target
    unwritten: int = 0  # passed all tests, but no render target is bound
    depth_passed: int = 0  # as PS_DEPTH_COUNT has them with statistics enabled

    @property
    def killed(self) -> int:
        """By the pixel shader.  Negative if a kernel lights pixels that it was not given."""
        return self.shaded - self.ended

    @property
    def stencil_failed(self) -> int:
        return self.early_stencil_failed + self.late_stencil_failed

    @property
    def depth_failed(self) -> int:
        return self.early_depth_failed + self.late_depth_failed

    def as_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"killed": self.killed}


@dataclass(slots=True, frozen=True)
class Stage:
    """The threads of one unit."""

    threads: int = 0
    instructions: int = 0  # executed, one per thread
    channel_ops: int = 0  # executed channels
    messages: tuple[int, ...] = (0,) * 16  # by shared function

    def __add__(self, other: Stage) -> Stage:
        messages = tuple(a + b for a, b in zip(self.messages, other.messages, strict=True))
        return Stage(self.threads + other.threads, self.instructions + other.instructions,
                     self.channel_ops + other.channel_ops, messages)

    @classmethod
    def of(cls, raw: Any) -> Stage:
        return cls(int(raw.threads), int(raw.instructions), int(raw.channel_ops), tuple(raw.messages))

    def as_json(self) -> dict[str, Any]:
        return {"threads": self.threads, "instructions": self.instructions, "channel_ops": self.channel_ops,
                "messages": messages_by_name(self.messages)}


@dataclass(slots=True, frozen=True)
class Media(_Sums):
    """The media pipeline."""

    media_objects: int = 0
    macroblocks: int = 0  # of slices
    media_roots: int = 0  # threads that VFE starts
    media_children: int = 0  # threads that threads start


@dataclass(slots=True, frozen=True)
class SurfaceBytes:
    """Bytes that units and messages request of one surface; there is no cache in between."""

    role: str
    address: int
    read_bytes: int = 0
    written_bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"role": self.role, "address": self.address, "read_bytes": self.read_bytes,
                "written_bytes": self.written_bytes}


@dataclass(slots=True, frozen=True)
class Counters:
    """Everything that was counted for one draw, or their sums."""

    vertices: Vertices = field(default_factory=Vertices)
    objects: Objects = field(default_factory=Objects)
    fragments: Fragments = field(default_factory=Fragments)
    media: Media = field(default_factory=Media)
    stages: dict[str, Stage] = field(default_factory=lambda: {name: Stage() for name in STAGES})
    surfaces: tuple[SurfaceBytes, ...] = ()  # by role, then by address
    pixels_blitted: int = 0  # of the blitter's rectangles, clipped

    @property
    def threads(self) -> int:
        return sum(stage.threads for stage in self.stages.values())

    @property
    def instructions(self) -> int:
        return sum(stage.instructions for stage in self.stages.values())

    @property
    def channel_ops(self) -> int:
        return sum(stage.channel_ops for stage in self.stages.values())

    @property
    def messages(self) -> tuple[int, ...]:
        """By shared function, of all stages."""
        return tuple(map(sum, zip(*(stage.messages for stage in self.stages.values()), strict=True)))

    @property
    def read_bytes(self) -> int:
        return sum(s.read_bytes for s in self.surfaces)

    @property
    def written_bytes(self) -> int:
        return sum(s.written_bytes for s in self.surfaces)

    def __add__(self, other: Counters) -> Counters:
        return Counters(self.vertices + other.vertices, self.objects + other.objects,
                        self.fragments + other.fragments, self.media + other.media,
                        {name: self.stages[name] + other.stages[name] for name in STAGES},
                        _added(self.surfaces, other.surfaces), self.pixels_blitted + other.pixels_blitted)

    def as_json(self) -> dict[str, Any]:
        """Documented in docs/json.md, "Counters"."""
        return {"vertices": self.vertices.as_json(), "objects": self.objects.as_json(),
                "fragments": self.fragments.as_json(), "media": self.media.as_json(),
                "pixels_blitted": self.pixels_blitted,
                "stages": {name: stage.as_json() for name, stage in self.stages.items()
                           if stage.threads or name not in _TESSELLATION},
                "surfaces": [s.as_json() for s in self.surfaces]}


@dataclass(slots=True, frozen=True)
class CountedDraw:
    """A draw command that has been executed, with its counters."""

    place: Place
    kind: DrawKind
    address: int  # of the command
    words: bytes  # of the command
    targets: tuple[Target, ...]  # that it drew to
    counters: Counters
    topology: str = ""  # of a primitive, by name


@dataclass(slots=True, frozen=True)
class LineCount:
    """How often an instruction was executed."""

    executions: int  # one for each thread
    channels: int  # enabled in them, by the masks and, except for branches and `sel`, by the predicate
    nans: int = 0  # float results of these channels
    infinities: int = 0

    def __add__(self, other: LineCount) -> LineCount:
        return LineCount(self.executions + other.executions, self.channels + other.channels, self.nans + other.nans,
                         self.infinities + other.infinities)


@dataclass(slots=True, frozen=True)
class KernelCount:
    """The instructions of a kernel.  Kernels with equal code are the same kernel."""

    code: bytes
    lines: dict[int, LineCount]  # by byte offset; those that were executed
    elsewhere: int  # executions of code that a computed branch leads to


def kernel_counts(native: Any) -> list[KernelCount]:
    """The kernels that have run since the core counts instructions, ordered by their code."""
    found = ffi.new("struct g4_kernel_count **")
    kernels = [found[0][i] for i in range(lib.g4_device_kernel_counts(native, found))]
    return sorted((KernelCount(bytes(ffi.buffer(k.code, k.bytes)), _lines(k), int(k.elsewhere)) for k in kernels),
                  key=lambda k: k.code)


def _lines(kernel: Any) -> dict[int, LineCount]:
    counts = memoryview(ffi.buffer(kernel.line, kernel.bytes // 8 * 32)).cast("Q")
    return {2 * at: LineCount(*counts[at:at + 4]) for at in range(0, len(counts), 4) if counts[at]}


def total(counters: Iterable[Counters]) -> Counters:
    """The sums of many."""
    return sum(counters, Counters())


def messages_by_name(messages: Iterable[int]) -> dict[str, int]:
    """Counts by shared function, without those that are 0."""
    return {FUNCTIONS[i] if i < len(FUNCTIONS) else f"function_{i}": n for i, n in enumerate(messages) if n}


def _added(left: tuple[SurfaceBytes, ...], right: tuple[SurfaceBytes, ...]) -> tuple[SurfaceBytes, ...]:
    if not left or not right:
        return left or right
    sums = {(s.role, s.address): s for s in left}
    for s in right:
        known = sums.get((s.role, s.address))
        sums[s.role, s.address] = s if known is None else SurfaceBytes(
            s.role, s.address, known.read_bytes + s.read_bytes, known.written_bytes + s.written_bytes)
    return tuple(sorted(sums.values(), key=lambda s: (_ORDER[s.role], s.address)))


_ORDER = {role: i for i, role in enumerate((*_ROLES.values(), BLIT_SOURCE, BLIT_DESTINATION))}


def take(native: Any, pixels: int = 0, blits: tuple[SurfaceBytes, ...] = ()) -> Counters:
    """Take the core's counters, with those of the blitter.  They start from 0 again."""
    raw = lib.g4_device_counters(native)
    if raw == ffi.NULL:
        raise ValueError("the device does not count")
    surfaces = tuple(SurfaceBytes(_ROLES[s.role], int(s.address), int(s.read_bytes), int(s.written_bytes))
                     for s in (raw.surface[i] for i in range(raw.surfaces)))
    stages = {name: Stage.of(raw.stage[i]) for i, name in enumerate(STAGES)}
    found = Counters(Vertices.of(raw), Objects.of(raw), Fragments.of(raw), Media.of(raw), stages,
                     (*surfaces, *blits), pixels)
    lib.g4_device_clear_counters(native)
    return found
