"""The rules of the decoder and of `gen4emu lint`: name, severity, one line, and the reason for the severity.

docs/lint.md holds this table as `documentation` writes it; a test compares them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum

from gen4emu.errors import SelectionError


class Severity(Enum):
    """The severity of a finding, from the most to the least severe."""

    ERROR = "error"  # the input is wrong or cannot be followed
    WARNING = "warning"  # it decodes, but hardware may do something else than the driver meant
    INFO = "info"  # a deviation from the manual that hardware is known to tolerate, or that has no effect

    def reaches(self, threshold: Severity) -> bool:
        """Whether this is at least as bad as a threshold."""
        order = list(Severity)
        return order.index(self) <= order.index(threshold)


@dataclass(slots=True, frozen=True)
class Rule:
    """One rule: `text` is a line, `reason` says why it is one and why it has its severity."""

    name: str
    severity: Severity
    text: str
    reason: str = ""


def _rules(severity: Severity, *rules: tuple[str, str] | tuple[str, str, str]) -> list[Rule]:
    return [Rule(rule[0], severity, rule[1], rule[2] if len(rule) > 2 else "") for rule in rules]


_ERRORS = _rules(
    Severity.ERROR,
    ("reserved-bits", "A reserved bit is set."),
    ("out-of-range", "A field has a value that the device does not define."),
    ("wrong-constant", "A field that has one legal value has another one."),
    ("unknown-command", "No command of this device has this header."),
    ("short-command", "A command is shorter than its layout; the missing dwords read as zero."),
    ("long-command", "A command is longer than its layout."),
    ("truncated", "The batch or ring ends inside a command."),
    ("batch-end", "A batch runs into memory that the trace never wrote, without MI_BATCH_BUFFER_END."),
    ("batch-loop", "A batch chains to a batch that contains it."),
    ("batch-again", "A batch that was decoded before is started again; its commands are not repeated."),
    ("batch-depth", "Batches are nested more deeply than the device allows."),
    ("stray-end", "MI_BATCH_BUFFER_END stands in the ring, where it ends nothing."),
    ("too-long", "The batches of one submission overlap so much that decoding stops."),
    ("too-much-state", "The state blocks or kernels of one submission overlap so much that the rest is not decoded."),
    ("unmapped", "A pointer leads to memory that the trace never wrote.",
     "The capture is incomplete or the pointer is wrong. Pointers that drivers leave unset on purpose have rules of "
     "their own: `unset-constants` and `unset-surface`."),
    ("kernel-end", "A kernel has no end of thread."),
    ("no-vertex-buffer", "A vertex element reads a buffer that no 3DSTATE_VERTEX_BUFFERS set."),
    ("no-index-buffer", "A primitive uses indices without 3DSTATE_INDEX_BUFFER."),
)

_WARNINGS = _rules(
    Severity.WARNING,
    # pipeline and state
    ("select-flush", "PIPELINE_SELECT switches without a flush after the last work.",
     "Work of the old pipeline may still run."),
    ("fence-after-select", "Work begins without URB_FENCE after PIPELINE_SELECT switched.",
     "The regions of the other pipeline's units are still in force."),
    ("wrong-pipeline", "Work for one pipeline while the other one is selected."),
    ("stale-pointers", "State pointers were not sent again after STATE_BASE_ADDRESS.",
     "The manual requires them again; which base the old ones use is undefined."),
    ("extended-vfe-state", "MEDIA_STATE_POINTERS and VFE_STATE disagree on the extended VFE state."),
    ("media-mode", "A media object, or VFE_STATE's children_present, is not allowed in the mode of the VFE."),
    ("set-context-noop", "MI_SET_CONTEXT is not followed by MI_NOOP."),
    ("privileged", "A privileged command in a batch that is not secure.",
     "Hardware skips it; this program executes it."),
    # URB and constants
    ("urb-overlap", "URB_FENCE gives a unit a region that ends before the region in front of it."),
    ("urb-capacity", "URB_FENCE gives a unit a region that ends behind the URB."),
    ("urb-region", "The entries of a unit do not fit its region of the URB."),
    ("urb-minimum", "GS or CLIP has fewer URB entries than strips and fans need.", "Threads wait for each other."),
    ("payload", "A thread's payload needs more registers than its kernel has."),
    ("constants-order", "CONSTANT_BUFFER comes before any CS_URB_STATE."),
    ("constants-entries", "CONSTANT_BUFFER while CS_URB_STATE reserves no entry."),
    ("constants-length", "A constant buffer is longer than its URB entry."),
    ("constants-missing", "A unit reads constants that no CONSTANT_BUFFER loaded."),
    ("constants-unwritten", "A kernel reads constants from memory that the trace never wrote.",
     "The kernel computes with undefined values. Reported for kernels with an instruction that reads the registers; "
     "compare `unset-constants`."),
    # vertices
    ("vertex-buffer-twice", "3DSTATE_VERTEX_BUFFERS lists a buffer twice."),
    ("no-vertex-elements", "No valid vertex element."),
    ("vertex-format", "A vertex element has a format that the vertex fetcher cannot read."),
    ("vertex-alignment", "A 64-bit vertex element is not aligned to 8 bytes."),
    ("vertex-order", "The vertex elements leave holes in the vertex or are out of order."),
    ("index-alignment", "The index buffer is not aligned to its indices."),
    ("index-range", "The index buffer ends before it starts."),
    ("cut-index", "Cut indices with a topology for which they are undefined."),
    ("adjacency", "A topology with adjacency, and neither GS nor CLIP to remove the adjacent vertices."),
    ("topology-needs-gs", "A topology that only GS can convert, and GS is off."),
    # surfaces and samplers
    ("depth-alignment", "The depth buffer is not aligned."),
    ("depth-pitch", "The pitch of the depth buffer is not a multiple of its tile or line."),
    ("surface-alignment", "A tiled surface does not start on a page."),
    ("surface-pitch", "The pitch of a surface is less than a row, or not a multiple of its tile."),
    ("sampler-format", "A texture has a format that the sampler cannot read."),
    ("sampler-lod", "A sampler's min_lod is above its max_lod."),
    ("filter-format", "A texture has a format that the sampler cannot filter, and its sampler filters."),
    ("shadow-format", "A shadow lookup of a format that cannot be compared."),
    ("shadow-cube", "A shadow lookup of a cube, which G4x gets wrong.",
     "The devices of the G45 family return wrong data. This program returns right data."),
    ("ld-3d-mipmap", "An unfiltered load from a mipmapped 3D surface, which G4x gets wrong.",
     "The devices of the G45 family return wrong data at level 1 and above, slice 1 and above. This program returns "
     "right data."),
    ("target-format", "A render target has a format that cannot be written."),
    ("blend-format", "A render target has a format that cannot be blended, and blending is on."),
    ("target-line-stride", "A render target has vertical_line_stride, which writes ignore."),
    # kernels
    ("message", "A `send` names no unit, or no message of its unit."),
    ("message-length", "A `send` has another message or response length than its message.",
     "965 PRM volume 4, table 2-1: too short a response leaves the thread with old data, too long a one hangs it."),
    ("eot-destination", "The message that ends a thread has a general register as its destination.",
     "965 PRM volume 4, table 2-1: \"Any 'send' instruction which specifies EOT must have a 'null' destination "
     "register\"; the EU does not issue the message otherwise, and the thread hangs. Compare `eot-accumulator`."),
    ("alpha-without-depth", "A render target write has stencil or antialias alpha without source depth."),
    ("urb-half-row", "An interleaved URB write of one register writes half a row."),
    # 2D
    ("blit-mask", "A 32-bit blit writes neither colour nor alpha."),
    ("blit-alignment", "A tiled operand of a blit does not start on a page."),
    ("blit-pitch", "The pitch of a linear operand is not a multiple of 4; the hardware drops the low bits."),
)

_INFO = _rules(
    Severity.INFO,
    ("no-vertices", "A primitive with no vertex.", "It is legal and draws nothing."),
    ("message-at-m0", "A kernel builds a message at m0.",
     "965 PRM volume 4, section Message Register File: \"m0 is reserved for System Routine (exception handling and "
     "debug) purposes, thus normal threads should construct their messages in m1..m15.\" The register works like the "
     "others; its contents are lost only if a system routine interrupts the thread between building and sending the "
     "message, and no driver installs one. Mesa builds the URB messages of its CLIP, SF and GS kernels there."),
    ("urb-fence-line", "URB_FENCE crosses a 64-byte line.",
     "An erratum says that it must not, and drivers mean to pad it with MI_NOOP. The test by which Mesa's crocus "
     "decides to pad expects a position in dwords and gets one in bytes, so it never pads, and G4x devices execute "
     "its batches. A driver that keeps to the erratum should select this rule."),
    ("eot-accumulator", "The message that ends a thread has an architecture register other than null as its "
                        "destination.",
     "The manual asks for null (see `eot-destination`). The kernels that Intel shipped for video and for 2D "
     "acceleration name acc0 in each of their last messages and end on every device: an architecture register "
     "receives no response."),
    ("unset-constants", "CONSTANT_BUFFER loads from memory that the trace never wrote.",
     "Mesa makes each vertex shader read at least one register of constants. For a shader without constants it binds "
     "a buffer that it never wrote. The contents have no effect if no kernel reads the registers; if one does, the "
     "draw has the warning `constants-unwritten`."),
    ("unset-surface", "A kernel names an entry of a binding table that is zero.",
     "The VA driver gives each picture the kernels of all kinds of prediction. A picture without references leaves "
     "the entries for them zero and starts none of the kernels that read them."),
)

RULES: dict[str, Rule] = {rule.name: rule for rule in (*_ERRORS, *_WARNINGS, *_INFO)}


class RuleSelection:
    """Which rules a user named: `a,b` only these, `-a` all but this.

    A rule that is named is reported whatever its severity; the others must reach the threshold.
    """

    def __init__(self, text: str = "", threshold: Severity = Severity.WARNING) -> None:
        names = [part.strip() for part in text.split(",") if part.strip()]
        self.threshold = threshold
        self.without = frozenset(_known(name[1:]) for name in names if name.startswith("-"))
        self.named = frozenset(_known(name) for name in names if not name.startswith("-"))

    def takes(self, rule: str, severity: Severity) -> bool:
        if rule in self.without:
            return False
        return rule in self.named if self.named else severity.reaches(self.threshold)


def _known(name: str) -> str:
    return rule_named(name).name


def rule_named(name: str) -> Rule:
    """A rule by its name; raises SelectionError with a suggestion."""
    rule = RULES.get(name)
    if rule is None:
        near = difflib.get_close_matches(name, RULES, 1)
        hint = f"did you mean {near[0]}?" if near else "gen4emu lint --rules lists them"
        raise SelectionError(f"unknown rule '{name}': {hint}")
    return rule


def documentation() -> str:
    """All rules as Markdown: a table for each severity, then the reasons."""
    parts = []
    for severity in Severity:
        rules = [rule for rule in RULES.values() if rule.severity is severity]
        rows = "".join(f"| `{rule.name}` | {rule.text} |\n" for rule in rules)
        reasons = "".join(f"\n**`{rule.name}`**: {rule.reason}\n" for rule in rules if rule.reason)
        parts.append(f"### {severity.value.capitalize()}\n\n| rule | finding |\n|---|---|\n{rows}{reasons}")
    return "\n".join(parts)
