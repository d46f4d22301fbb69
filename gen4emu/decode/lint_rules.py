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
    WARNING = "warning"  # it decodes, but hardware may not do what the driver intended
    INFO = "info"  # a deviation from the manual that hardware is known to tolerate, or that has no effect

    def reaches(self, threshold: Severity) -> bool:
        """Whether this is at least as bad as a threshold."""
        order = list(Severity)
        return order.index(self) <= order.index(threshold)


@dataclass(slots=True, frozen=True)
class Rule:
    """One rule: `text` is its line in the table, `reason` explains the rule and its severity."""

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
    ("wrong-constant", "A field with only one legal value has another value."),
    ("unknown-command", "No command of this device has this header."),
    ("short-command", "A command is shorter than its layout; the missing dwords read as zero."),
    ("long-command", "A command is longer than its layout."),
    ("truncated", "The batch or ring ends inside a command."),
    ("batch-end", "A batch runs into memory that the trace never wrote, without MI_BATCH_BUFFER_END."),
    ("batch-loop", "A batch chains to a batch that contains it."),
    ("batch-again", "A batch that was decoded before is started again; its commands are not repeated."),
    ("batch-depth", "Batches are nested more deeply than the device allows."),
    ("stray-end", "MI_BATCH_BUFFER_END is in the ring, where it ends nothing."),
    ("too-long", "The batches of one submission overlap so much that decoding stops."),
    ("too-much-state", "The state blocks or kernels of one submission overlap so much that the rest is not decoded."),
    ("unmapped", "A pointer leads to memory that the trace never wrote.",
     "The capture is incomplete or the pointer is wrong. Pointers that drivers deliberately leave unset have rules of "
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
     "Hardware skips it; gen4emu executes it."),
    # URB and constants
    ("urb-overlap", "URB_FENCE gives a unit a region that ends before the region in front of it."),
    ("urb-capacity", "URB_FENCE gives a unit a region that ends beyond the URB."),
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
    ("adjacency", "A topology with adjacency, but neither GS nor CLIP to remove the adjacent vertices."),
    ("topology-needs-gs", "A topology that only GS can convert, but GS is off."),
    # surfaces and samplers
    ("depth-alignment", "The depth buffer is not aligned."),
    ("depth-pitch", "The pitch of the depth buffer is not a multiple of its tile or line."),
    ("surface-alignment", "A tiled surface does not start on a page."),
    ("surface-pitch", "The pitch of a surface is less than a row, or not a multiple of its tile."),
    ("sampler-format", "A texture has a format that the sampler cannot read."),
    ("sampler-lod", "A sampler's min_lod is above its max_lod."),
    ("filter-format", "A texture has a format that the sampler cannot filter, but its sampler filters."),
    ("shadow-format", "A shadow lookup of a format that cannot be compared."),
    ("shadow-cube", "A shadow lookup of a cube, which G4x gets wrong.",
     "The devices of the G45 family return wrong data. gen4emu returns correct data."),
    ("ld-3d-mipmap", "An unfiltered load from a mipmapped 3D surface, which G4x gets wrong.",
     "The devices of the G45 family return wrong data at level 1 and above, slice 1 and above. gen4emu returns "
     "correct data."),
    ("target-format", "A render target has a format that cannot be written."),
    ("blend-format", "A render target has a format that cannot be blended, but blending is on."),
    ("target-line-stride", "A render target has vertical_line_stride, which writes ignore."),
    # kernels
    ("message", "A `send` names no unit, or no message of its unit."),
    ("message-length", "The message or response length of a `send` does not fit its message.",
     "965 PRM volume 4, table 2-1: too short a response leaves the thread with old data, too long a one hangs it."),
    ("eot-destination", "The message that ends a thread has a general register as its destination.",
     "965 PRM volume 4, table 2-1: \"Any 'send' instruction which specifies EOT must have a 'null' destination "
     "register\"; the EU does not issue the message otherwise, and the thread hangs. Compare `eot-accumulator`."),
    ("alpha-without-depth", "A render target write has stencil or antialias alpha without source depth."),
    ("urb-half-row", "An interleaved URB write of one register writes half a row."),
    # 2D
    ("blit-mask", "A 32-bit blit writes neither color nor alpha."),
    ("blit-alignment", "A tiled operand of a blit does not start on a page."),
    ("blit-pitch", "The pitch of a linear operand is not a multiple of 4; the hardware drops the low bits."),
)

_LATER_WARNINGS = _rules(
    Severity.WARNING,
    # Gen6 and later: primitives and vertices
    ("primitive-counts", "3DPRIMITIVE takes its counts both from registers and from the end of a buffer."),
    ("primitive-end-offset", "3DPRIMITIVE draws to the end of a buffer with random access or a start vertex."),
    ("end-offset-buffer", "3DPRIMITIVE draws to the end of vertex buffer 0, which is not set."),
    ("vertex-elements", "3DSTATE_VERTEX_ELEMENTS lists no element, or more than 34."),
    ("edge-flag", "A vertex element other than the last one is the edge flag."),
    ("no-topology", "A primitive before the first 3DSTATE_VF_TOPOLOGY."),
    ("vertex-cache", "A vertex buffer moves to other upper address bits without an invalidation of the vertex cache.",
     "The cache compares only the lower 32 bits of addresses."),
    # surfaces and samplers of the kernels at a draw
    ("chroma-format", "A chroma key is enabled for a format that does not support it."),
    ("chroma-channels", "A chroma key limits a channel that the format does not have."),
    ("depth-target", "The depth buffer and a render target differ in type, level, layers or size."),
    ("sample-count", "A render target and 3DSTATE_MULTISAMPLE have different numbers of samples."),
    ("antialias-format", "Lines are antialiased in a render target of integers."),
    ("fast-clear-target", "The target of a fast clear or resolve is null, or not entry 0 of the binding table."),
    ("no-target-writes", "A shader writes a render target or kills pixels, but its state says that it does not."),
    ("kill-pixel", "A shader writes a render target with a predicate, but its state says that it kills no pixel."),
    ("writeable-target", "A render target is written, but 3DSTATE_PS_BLEND says that there is none."),
    ("dual-source", "Blending uses a second color, but the shader writes only one.",
     "Blending is then undefined and may hang."),
    ("feedback", "A primitive samples a surface that an earlier one drew to, without a flush of the render cache."),
    # stages
    ("tessellation-stages", "HS, TE and DS are not all on or all off."),
    ("patch-topology", "A hull shader without patches, patches without one, or patches too large for its mode."),
    ("dual-patch", "A hull shader for two patches has several instances."),
    ("vertex-handles", "HS or GS gets neither vertex handles nor vertex data."),
    ("domain-w", "DS computes a third coordinate of a domain that has two."),
    ("ds-payload", "DS threads for two patches have URB data in the place of handles."),
    ("ds-handles", "DS takes two patches at once, but HS has fewer than two URB entries."),
    ("gs-control", "The control data of GS is too short for its vertices."),
    ("gs-vertices", "GS expects an impossible number of vertices."),
    ("gs-instances", "GS threads for two objects have several instances, or objects with too many vertices."),
    ("gs-streams", "GS writes stream numbers with a topology other than points."),
    ("gs-payload", "GS threads have URB data in the place of handles."),
    ("gs-output", "GS has too few URB entries for its mode, or a vertex size that it cannot write."),
    ("gs-stall", "GS with SIMD8 and fewer than 16 URB entries, without a stall after 3DSTATE_GS."),
    ("uav-disabled", "A stage that is off accesses unordered memory."),
    ("output-length", "The last stage before the rasterizer has no output, or too much."),
    ("kernel-bound", "A kernel starts beyond the instructions of STATE_BASE_ADDRESS."),
    # URB and constants
    ("urb-range", "The URB regions of two stages overlap, or one overlaps the push constants."),
    ("urb-vertices", "VS has too few URB entries."),
    ("push-range", "Push constants end beyond their memory, or do not start and end on multiples of 2 KiB."),
    ("push-area", "The constants of a stage do not fit its push constants, or two stages overlap."),
    ("push-order", "Constants or binding tables were not sent again after their allocation changed."),
    ("push-enable", "push_constant_enable does not agree with the constants of PS."),
    ("constants-total", "A stage has more than 2 KiB of constants."),
    ("constants-uncommitted", "Constants are not followed by a 3DSTATE_BINDING_TABLE_POINTERS of their stage.",
     "On Gen9 constants take effect with that command; the primitive uses the old ones."),
    ("constants-slots", "Constants in buffer 0 follow constants without buffer 3, with no flush in between."),
    ("resource-streamer", "A command of the resource streamer while it is off."),
    ("pool-size", "A pool is enabled with size 0."),
    ("edit-length", "3DSTATE_BINDING_TABLE_EDIT_* has more than 256 entries."),
    ("gather-length", "3DSTATE_GATHER_CONSTANT_* has too many entries."),
    ("gather-order", "The gather pool is on, but no 3DSTATE_GATHER_CONSTANT_* of the stage precedes its constants."),
    ("gather-on-die", "A gather from the on-die table has valid bits that differ from those of the loaded table."),
    ("gather-again", "A gather was not repeated, after stores, with no valid bits.",
     "The manual's workaround is at least four MI_RS_STORE_DATA_IMM, the gather without valid bits, and the "
     "constants once more."),
    ("pool-order", "The binding table pool was not allocated again after the resource streamer was switched on."),
    ("dx9-constants", "3DSTATE_DX9_GENERATE_ACTIVE_* before any constant of the stage."),
    # setup and pixels
    ("stipple-counters", "3DSTATE_LINE_STIPPLE sets the counters to values that only hardware writes."),
    ("stipple-inverse", "The inverse of the repeat count of line stipple is wrong."),
    ("clip-mode", "CLIP clips without a perspective divide."),
    ("early-cull", "Early culling is on with four bits of sub-pixel precision."),
    ("point-widths", "CLIP has a minimum point width above the maximum."),
    ("point-width", "The state says that points have width 0."),
    ("provoking-vertex", "CLIP and SF have different provoking vertices."),
    ("sub-pixel-precision", "CLIP and SF have different sub-pixel precision, or too little."),
    ("barycentric-mode", "WM interpolates without perspective, but CLIP does not prepare for it."),
    ("line-width", "Lines of width 0 with multisample rasterization."),
    ("rectangle-fill", "Rectangles with a fill mode other than SOLID."),
    ("forced-samples", "A forced sample count that does not fit the samples, their location or the shader."),
    ("conservative", "Conservative rasterization with a pixel location other than CENTER, or with polygon stipple."),
    ("pixel-dispatch", "PS enables no width, or one that its number of samples does not allow."),
    ("attribute-enable", "attribute_enable does not agree with the number of attributes of SBE."),
    ("sbe-reads", "SBE reads fewer attributes than it gives to PS."),
    ("active-components", "SBE gives PS an attribute without components."),
    ("fast-clear-dispatch", "A fast clear or a resolve is dispatched for 8 pixels."),
    ("fast-clear-resolve", "A fast clear and a resolve are enabled at once."),
    ("invalid-shader", "3DSTATE_PS_EXTRA has state of a shader that is not valid."),
    ("forced-depth", "force_computed_depth is set."),
    ("uav-mask", "A shader that only writes unordered memory has a sample mask."),
    ("ps-blend", "3DSTATE_PS_BLEND and BLEND_STATE disagree."),
    ("cc-pointer", "A primitive while the pointer to COLOR_CALC_STATE is not valid."),
    ("dynamic-bound", "A pointer leads beyond the dynamic state of STATE_BASE_ADDRESS."),
    ("chroma-range", "A chroma key has a high value below its low value."),
    # depth and stencil
    ("depth-cube", "A cubic depth buffer is not square, or has a depth."),
    ("depth-extent", "The depth buffer and its view have different extents."),
    ("depth-tiling", "A mip tail of a depth buffer that is not a tiled resource."),
    ("depth-qpitch", "A depth, stencil or hierarchical depth buffer has a wrong distance between slices."),
    ("hiz-samples", "A depth or stencil operation and 3DSTATE_MULTISAMPLE have different numbers of samples."),
    ("hiz-rectangle", "A depth clear whose rectangle is not aligned to 8x4 pixels."),
    ("hiz-buffer", "A hierarchical depth buffer has no address, or is used with a depth buffer that cannot have one."),
    ("stencil-format", "A stencil buffer is used with a depth buffer that cannot have one."),
    ("clear-value", "A depth clear value outside 0 to 1."),
    # stream output
    ("so-decl-length", "3DSTATE_SO_DECL_LIST is not as long as its longest stream."),
    ("so-decl-buffers", "The buffers of a stream are not those that its declarations name."),
    ("so-pitch", "The pitch of a stream output buffer is less than a vertex, or not a multiple of 4."),
    ("so-buffer-twice", "A stream output buffer is set twice between two primitives."),
    # synchronisation
    ("stall-missing", "PIPE_CONTROL has an operation that needs a stall, a write or an immediate write."),
    ("stall-at-scoreboard", "PIPE_CONTROL combines a stall at the scoreboard with another stall or a flush."),
    ("stall-alone", "PIPE_CONTROL stalls the command streamer and does nothing else."),
    ("depth-stall", "PIPE_CONTROL combines a depth stall with a flush."),
    ("flush-and-count", "PIPE_CONTROL combines a flush with a write of a count or timestamp."),
    ("vf-invalidate", "The vertex cache is invalidated without an empty PIPE_CONTROL before it."),
    ("gpgpu-post-sync", "PIPE_CONTROL in GPGPU mode writes or invalidates without a stall."),
    ("base-flush", "STATE_BASE_ADDRESS comes after work that was not flushed."),
    ("base-invalidate", "A primitive after STATE_BASE_ADDRESS without an invalidation of caches."),
    ("select-invalidate", "PIPELINE_SELECT switches without an invalidation of read caches after the last work."),
    ("object-preemption", "Preemption within draws is on for a primitive that does not allow it."),
    ("state-rewritten", "A command writes to state that earlier primitives use, without a stall."),
    ("vfe-stall", "MEDIA_VFE_STATE comes after work without a stall."),
    ("walker-flush", "New constants or descriptors after a walker without MEDIA_STATE_FLUSH."),
    ("l3-idle", "L3 is configured while work may run."),
    ("threads-change", "The number of PS threads changes without a stall at the scoreboard."),
    ("wrong-engine", "A 2D command on the render engine, or a 3D command on another one."),
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
     "An erratum forbids it, and drivers intend to pad it with MI_NOOP. The test by which Mesa's crocus "
     "decides to pad expects a position in dwords and gets one in bytes, so crocus never pads, and G4x devices execute "
     "its batches. A driver that follows the erratum should select this rule."),
    ("eot-accumulator", "The message that ends a thread has an architecture register other than null as its "
                        "destination.",
     "The manual requires null (see `eot-destination`). The kernels that Intel shipped for video and for 2D "
     "acceleration name acc0 in each of their last messages and end on every device: an architecture register "
     "receives no response."),
    ("unset-constants", "CONSTANT_BUFFER loads from memory that the trace never wrote.",
     "Mesa makes each vertex shader read at least one register of constants. For a shader without constants it binds "
     "a buffer that it never wrote. The contents have no effect if no kernel reads the registers; if one does, the "
     "draw has the warning `constants-unwritten`."),
    ("unset-surface", "A kernel names an entry of a binding table that is zero.",
     "The VA driver gives each picture the kernels for all kinds of prediction. For a picture without references it "
     "leaves the entries of the references zero, and starts none of the kernels that read them."),
    ("clip-statistics", "Statistics are on in only one of CLIP and SF."),
    ("depth-bias", "Depth offset is on without the legacy scale."),
    ("depth-coverage", "The coverage mask should include the depth test, but depth is tested after the shader.",
     "The mask is then ordinary coverage."),
    ("sample-order", "The samples are not in the order of their distance from the centre."),
    ("override-select", "3DSTATE_SBE selects an attribute for the primitive number, and no component."),
    ("hs-primitive-id", "include_primitive_id is set in a mode that ignores it."),
    ("gs-reorder", "GS reorders the vertices of strips for the last provoking vertex.",
     "The manual requires LEADING as a workaround. Mesa sends TRAILING, which OpenGL needs."),
    ("clear-range", "A depth clear value outside the depth range of the viewport."),
    ("uav-coherency", "A primitive accesses unordered memory that an earlier one accessed, without a flush.",
     "Hardware orders the accesses if 3DPRIMITIVE has uav_coherency_required. OpenGL orders them only where a program "
     "has a barrier, so a driver may leave it out."),
    ("missing-state", "The first primitive of a context comes before state that it needs.",
     "The context image may have that state."),
    ("push-stall", "No stall after the push constants of DS were allocated.",
     "The manual prints this workaround for DS only."),
)

RULES: dict[str, Rule] = {rule.name: rule for rule in (*_ERRORS, *_WARNINGS, *_LATER_WARNINGS, *_INFO)}


class RuleSelection:
    """The rules that a user selected: `a,b` selects only these, `-a` all but this one.

    A named rule is reported whatever its severity; the others must reach the threshold.
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
    """Return the rule with this name; raise SelectionError with a suggestion if there is none."""
    rule = RULES.get(name)
    if rule is None:
        near = difflib.get_close_matches(name, RULES, 1)
        hint = f"did you mean {near[0]}?" if near else "gen4emu lint --rules lists them"
        raise SelectionError(f"unknown rule '{name}': {hint}")
    return rule


def documentation() -> str:
    """Return all rules as Markdown: a table for each severity, then the reasons."""
    parts = []
    for severity in Severity:
        rules = [rule for rule in RULES.values() if rule.severity is severity]
        rows = "".join(f"| `{rule.name}` | {rule.text} |\n" for rule in rules)
        reasons = "".join(f"\n**`{rule.name}`**: {rule.reason}\n" for rule in rules if rule.reason)
        parts.append(f"### {severity.value.capitalize()}\n\n| rule | finding |\n|---|---|\n{rows}{reasons}")
    return "\n".join(parts)
