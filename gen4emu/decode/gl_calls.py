"""The program's GL calls in a capture: shaders, programs, labels, and the debug group of each draw.

The notes of a capture (gen4emu.trace.gl_notes) do not say which command a call became.  The driver works in the
program's thread, so the calls noted before a submission are those whose draws it holds.  Clears and copies of the
driver are rectangles, which GL does not draw, and its workarounds have no vertices; the other 3DPRIMITIVEs are compared
with the calls by number and shape.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from gen4emu.core_enums import NoteKind
from gen4emu.decode.gl_compiled import CompiledShader, CompiledShaders
from gen4emu.decode.nodes import Command
from gen4emu.trace import gl_notes
from gen4emu.trace.gl_notes import UNKNOWN, GlNote

_STAGES = {0x8B30: "fragment", 0x8B31: "vertex", 0x8DD9: "geometry", 0x8E87: "tess eval", 0x8E88: "tess ctrl",
           0x91B9: "compute"}
_OBJECTS = {0x82E0: "buffer", 0x82E1: "shader", 0x82E2: "program", 0x82E3: "query", 0x82E4: "program pipeline",
            0x82E6: "sampler", 0x8074: "vertex array", 0x1702: "texture", 0x8D40: "framebuffer",
            0x8D41: "renderbuffer", 0x8E22: "transform feedback",
            0x8B40: "program", 0x8B48: "shader", 0x9151: "buffer", 0x9153: "query", 0x9154: "vertex array"}
_UNITS = {"vs": "vertex", "hs": "tess ctrl", "ds": "tess eval", "gs": "geometry", "ps": "fragment"}
_RECTANGLES = 15
# GL topology -> those of the hardware that the driver may choose
_TOPOLOGIES = {0: (1,), 1: (2,), 2: (16, 3), 3: (3,), 4: (4,), 5: (5,), 6: (6,), 7: (7, 4, 5, 6), 8: (8, 5),
               9: (14, 6), 10: (9,), 11: (10,), 12: (11,), 13: (12,), 14: tuple(range(32, 64))}
_MOST_WAITING = 1 << 20  # calls
_MOST_ALIGNED = 4096  # calls of one submission that are compared by shape
_MOST_PROGRAMS = _MOST_SHADERS = 1 << 14
_MOST_ATTACHED = 64  # shaders of one program
_MOST_TITLES = 3  # of programs or shaders in one text
_DEEPEST = 64  # groups, as GL has it


@dataclass(slots=True)
class GlShader:
    """A shader with the source that it was compiled from."""

    name: int
    stage: str
    source: str
    label: str = ""
    digest: bytes = b""  # SHA-1 of the source as GL got it

    @property
    def title(self) -> str:
        return f"{self.stage} shader {self.name}" + (f' "{self.label}"' if self.label else "")

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "stage": self.stage, "label": self.label, "source": self.source}


@dataclass(slots=True)
class GlProgram:
    """A program as it was linked."""

    name: int
    shaders: tuple[GlShader, ...]
    label: str = ""

    @property
    def title(self) -> str:
        return f'program {self.name} "{self.label}"' if self.label else f"program {self.name}"

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "label": self.label, "shaders": [shader.as_json() for shader in self.shaders]}


@dataclass(slots=True, frozen=True)
class KernelOrigin:
    """From where the driver compiled a kernel."""

    compiled: CompiledShader  # the first, if several shaders have the same code
    programs: tuple[GlProgram, ...]  # empty: the driver's own, or not noted
    shaders: tuple[GlShader, ...]  # of the kernel's stage

    @property
    def title(self) -> str:
        if not self.shaders:
            return f"{self.compiled.stage} shader {self.compiled.name}"
        return ", ".join([*_few([program.title for program in self.programs], "programs"),
                          *_few([shader.title for shader in self.shaders], "shaders")])

    def as_json(self) -> dict[str, Any]:
        return {"stage": self.compiled.stage, "name": self.compiled.name, "summary": self.compiled.summary,
                "programs": [{"name": program.name, "label": program.label} for program in self.programs],
                "shaders": [shader.name for shader in self.shaders]}


@dataclass(slots=True, frozen=True)
class DrawGroup:
    """Where in the program a draw was made."""

    path: tuple[str, ...]  # the debug groups, outermost first
    program: GlProgram | None
    exact: bool  # calls and draws of the submission agree in number and shape; otherwise it is likely

    @property
    def text(self) -> str:
        parts = [" / ".join(self.path)] if self.path else []
        parts += [self.program.title] if self.program is not None else []
        return ", ".join(parts) + ("" if self.exact or not parts else " (likely)")

    def as_json(self) -> dict[str, Any]:
        return {"path": list(self.path), "program": None if self.program is None else self.program.name,
                "program_label": "" if self.program is None else self.program.label, "exact": self.exact}


@dataclass(slots=True)
class _Thread:
    groups: list[str] = field(default_factory=list)
    too_deep: int = 0
    program: GlProgram | None = None


@dataclass(slots=True, frozen=True)
class _Call:
    """A draw call."""

    path: tuple[str, ...]
    program: GlProgram | None
    topology: int
    vertices: int
    instances: int
    draws: int

    def fits(self, primitive: _Primitive) -> bool:
        topologies = _TOPOLOGIES.get(self.topology, ())
        return (self.draws == 1 and (not topologies or primitive.topology in topologies)
                and (primitive.vertices is None or self.vertices == UNKNOWN or self.vertices == primitive.vertices)
                and (primitive.instances is None or self.instances == UNKNOWN
                     or self.instances == primitive.instances))


@dataclass(slots=True, frozen=True)
class _Primitive:
    draw: int
    topology: int
    vertices: int | None  # None: in a register
    instances: int | None


class GlCalls:
    """Follows the notes and the draws of one trace."""

    def __init__(self) -> None:
        self.programs: list[GlProgram] = []
        self.labels: dict[tuple[str, int], str] = {}  # by kind of object and name
        self.groups: dict[int, DrawGroup] = {}  # by the number of a draw
        self.lost = 0  # notes
        self.present = False
        self._shaders: dict[int, GlShader] = {}
        self._sources: dict[int, tuple[str, str, bytes]] = {}  # stage, text and digest, not compiled yet
        self._by_digest: dict[bytes, GlShader] = {}
        self._programs: dict[tuple[int, bytes], GlProgram] = {}  # by name and the digest of a shader
        self.compiled = CompiledShaders()
        self._of_compiled: dict[CompiledShader, tuple[GlProgram | None, tuple[GlShader, ...]]] = {}
        self._attached: dict[int, list[int]] = {}
        self._linked: dict[int, GlProgram] = {}
        self._threads: dict[int, _Thread] = {}
        self._calls: list[_Call] = []
        self._primitives: list[_Primitive] = []
        self._topology: int | None = None  # Gen8 on: of a command before the draw

    # --- notes ----------------------------------------------------------------------------------------------------
    def add(self, notes: Iterable[GlNote]) -> Iterator[str]:
        """The next notes; yields lines about what they say of more than one draw."""
        self.present = True
        linked: dict[int, GlProgram] = {}
        for note in notes:
            self._object(note)
            if note.kind is NoteKind.LINK and note.words[0] in self._linked:
                linked[note.words[0]] = self._linked[note.words[0]]
            elif note.kind is NoteKind.MARKER:
                yield f'marker "{note.text}"'
            elif note.kind is NoteKind.LOST:
                self.lost += note.words[0]
                yield f"{note.words[0]} notes are missing: the program made too many"
            elif note.kind is NoteKind.DRIVER:
                self._compiled(note.text)
            else:
                self._call(note)
        for program in linked.values():
            shaders = ", ".join(s.title for s in program.shaders)
            yield f"{program.title}: {shaders or 'no shaders'}"

    def _object(self, note: GlNote) -> None:
        words = note.words
        if note.kind is NoteKind.SOURCE and len(self._sources) < _MOST_SHADERS:
            stage = _STAGES.get(words[1], f"stage 0x{words[1]:x}")
            self._sources[words[0]] = stage, note.text, gl_notes.source_digest(note.text.encode("utf-8", "replace"))
        elif note.kind is NoteKind.DIGEST and words[0] in self._sources:
            stage, text, _ = self._sources[words[0]]
            self._sources[words[0]] = stage, text, struct.pack("<5I", *words[1:])
        elif note.kind is NoteKind.COMPILE and words[0] in self._sources and len(self._shaders) < _MOST_SHADERS:
            stage, text, digest = self._sources[words[0]]
            shader = GlShader(words[0], stage, text, self.labels.get(("shader", words[0]), ""), digest)
            self._shaders[words[0]] = self._by_digest[digest] = shader
        elif note.kind is NoteKind.ATTACH and len(self._attached) < _MOST_PROGRAMS:
            attached = self._attached.setdefault(words[0], [])
            if words[1] not in attached and len(attached) < _MOST_ATTACHED:
                attached.append(words[1])
        elif note.kind is NoteKind.DETACH and words[1] in self._attached.get(words[0], ()):
            self._attached[words[0]].remove(words[1])
        elif note.kind is NoteKind.LINK and len(self.programs) < _MOST_PROGRAMS:
            shaders = [self._shaders[s] for s in self._attached.get(words[0], ()) if s in self._shaders]
            program = GlProgram(words[0], tuple(shaders), self.labels.get(("program", words[0]), ""))
            self._linked[words[0]] = program
            self._programs.update(((words[0], shader.digest), program) for shader in shaders)
            self.programs.append(program)
        elif note.kind is NoteKind.LABEL and len(self.labels) < _MOST_SHADERS:
            self._label(_OBJECTS.get(words[0], f"object 0x{words[0]:x}"), words[1], note.text)

    def _compiled(self, section: str) -> None:
        shader = self.compiled.add(section)
        if shader is None or shader.source is None or shader in self._of_compiled:
            return
        program = None if shader.program is None else self._programs.get((shader.program, shader.source))
        alone = self._by_digest.get(shader.source)
        among = program.shaders if program is not None else () if alone is None else (alone,)
        self._of_compiled[shader] = program, tuple(s for s in among if s.stage == shader.stage)

    def _label(self, kind: str, name: int, text: str) -> None:
        self.labels[kind, name] = text
        if kind == "program" and name in self._linked:
            self._linked[name].label = text
        elif kind == "shader" and name in self._shaders:
            self._shaders[name].label = text

    def _call(self, note: GlNote) -> None:
        thread = self._threads.setdefault(note.thread, _Thread())
        if note.kind is NoteKind.USE:
            thread.program = self._linked.get(note.words[0])
        elif note.kind is NoteKind.PUSH:
            if len(thread.groups) < _DEEPEST:
                thread.groups.append(note.text)
            else:
                thread.too_deep += 1
        elif note.kind is NoteKind.POP:
            if thread.too_deep:
                thread.too_deep -= 1
            elif thread.groups:
                thread.groups.pop()
        elif note.kind is NoteKind.DRAW and len(self._calls) < _MOST_WAITING:
            topology, vertices, instances, draws = note.words
            if vertices and instances and draws:
                self._calls.append(_Call(tuple(thread.groups), thread.program, topology, vertices, instances, draws))

    def as_json(self) -> dict[str, Any]:
        return {"programs": [program.as_json() for program in self.programs],
                "labels": [{"object": kind, "name": name, "label": label}
                           for (kind, name), label in sorted(self.labels.items())],
                "compiled": [{"digest": f"sha1:{digest.hex()}",
                              **origin.as_json()} for digest, shaders in self.compiled.all()
                             if (origin := self._origin(shaders)) is not None],
                "draws": [{"draw": draw, **group.as_json()} for draw, group in sorted(self.groups.items())],
                "lost": self.lost}

    def origin(self, code: bytes) -> KernelOrigin | None:
        """The origin of a kernel, by its machine code."""
        return self._origin(self.compiled.of_code(code))

    def _origin(self, compiled: list[CompiledShader]) -> KernelOrigin | None:
        if not compiled:
            return None
        programs: list[GlProgram] = []
        shaders: list[GlShader] = []
        for one in compiled:
            program, made_of = self._of_compiled.get(one, (None, ()))
            if program is not None and program not in programs:
                programs.append(program)
            shaders += [s for s in made_of if s not in shaders]
        return KernelOrigin(compiled[0], tuple(programs), tuple(shaders))

    def sources(self, stages: Iterable[str], draws: Iterable[tuple[int, int]]) -> list[GlShader]:
        """The shaders of these stages of the hardware in the programs of runs of draws, if their calls are certain."""
        wanted = {_UNITS.get(stage.split(" ")[0]) for stage in stages}
        found: list[GlShader] = []
        for first, last in draws:
            for draw in range(first, last + 1):
                group = self.groups.get(draw)
                if group is not None and group.exact and group.program is not None:
                    found += [s for s in group.program.shaders if s.stage in wanted and s not in found]
        return found

    # --- beginning later than at the start -------------------------------------------------------------------------
    @property
    def waiting(self) -> tuple[int, int | None]:
        """How many calls wait for their draws, and the topology that a command has set."""
        return len(self._calls), self._topology

    def skip(self, waiting: int, topology: int | None) -> None:
        """The draws so far were left out: of the calls so far, the last ones wait for theirs."""
        del self._calls[:max(0, len(self._calls) - waiting)]
        self._topology = topology

    # --- draws ----------------------------------------------------------------------------------------------------
    def command(self, command: Command) -> None:
        """The next command of a submission."""
        name = command.body.name
        if name == "3DSTATE_VF_TOPOLOGY":
            self._topology = int(command.body.view.raw("primitive_topology_type"))
        elif name == "3DPRIMITIVE" and command.draw is not None and command.body.layout is not None:
            view = command.body.view
            own = self._topology if self._topology is not None else int(view.raw("primitive_topology_type"))
            indirect = bool(command.body.fields().get("indirect_parameter_enable"))
            vertices = None if indirect else int(view.vertex_count_per_instance)
            instances = None if indirect else int(view.instance_count)
            if own != _RECTANGLES and vertices != 0 and instances != 0:
                self._primitives.append(_Primitive(command.draw, own, vertices, instances))

    def submission_ended(self) -> Iterator[str]:
        """Find the groups of the submission's draws; yields a line for each run of draws of one group."""
        primitives, self._primitives = self._primitives, []
        if not primitives:
            return  # its calls come with a later submission of another engine or context
        calls, self._calls = self._calls, []
        if not calls:
            return
        exact = len(calls) == len(primitives) and all(c.fits(p) for c, p in zip(calls, primitives, strict=True))
        chosen: Sequence[_Call | None] = calls if exact else _aligned(calls, primitives)
        runs: list[tuple[int, int, DrawGroup]] = []
        for primitive, call in zip(primitives, chosen, strict=True):
            if call is None or not (call.path or call.program):
                continue
            group = DrawGroup(call.path, call.program, exact)
            if runs and runs[-1][2] == group:
                group = runs[-1][2]
                runs[-1] = runs[-1][0], primitive.draw, group
            else:
                runs.append((primitive.draw, primitive.draw, group))
            self.groups[primitive.draw] = group
        for first, last, group in runs:
            yield f"draw {first}: {group.text}" if first == last else f"draws {first} to {last}: {group.text}"


def _few(titles: list[str], noun: str) -> list[str]:
    left = len(titles) - _MOST_TITLES
    return titles if left <= 1 else [*titles[:_MOST_TITLES], f"{left} more {noun}"]


def source_texts(origin: KernelOrigin | None, shaders: Iterable[GlShader]) -> list[tuple[str, str]]:
    """Titles and texts of the forms in which a shader was before it became a kernel, GLSL first."""
    found = [(f"GLSL, {shader.title}", shader.source) for shader in shaders]
    if origin is not None:
        compiled = origin.compiled
        found += [(f"NIR, {form}", text) for form, text in compiled.nir]
        found.append(("driver's assembly", f"{compiled.summary}\n{compiled.assembly}"))
    return found


def _aligned(calls: list[_Call], primitives: list[_Primitive]) -> list[_Call | None]:
    """The call of each primitive as far as their shapes agree in order, or where the neighbours agree."""
    if len({(call.path, call.program and id(call.program)) for call in calls}) == 1:
        return [calls[0]] * len(primitives)
    found: list[_Call | None] = [None] * len(primitives)
    if max(len(calls), len(primitives)) > _MOST_ALIGNED:
        return found
    shapes = [_shape(call, primitives) for call in calls]
    matcher = SequenceMatcher(None, shapes, [(p.topology, p.vertices, p.instances) for p in primitives], False)
    for at, to, size in matcher.get_matching_blocks():
        found[to:to + size] = calls[at:at + size]
    before: _Call | None = None
    for at, call in enumerate(found):
        if call is not None:
            before = call
            continue
        after = next((c for c in found[at:] if c is not None), None)
        if before is not None and after is not None and (before.path, before.program) == (after.path, after.program):
            found[at] = before
    return found


def _shape(call: _Call, primitives: list[_Primitive]) -> tuple[int, int | None, int | None]:
    """The shape of a primitive that the call may have become; (-1, None, None) if there is no such one."""
    for primitive in primitives:
        if call.fits(primitive):
            return primitive.topology, primitive.vertices, primitive.instances
    return -1, None, None
