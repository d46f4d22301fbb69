"""The state of a hardware context, and the commands that only change it.

The state itself is `struct g4_state` of the C core: pointers resolved when their command arrives, other commands kept
whole for the core to unpack when a draw needs them.  A context is saved by copying the struct.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.hw.catalogue import executed_command
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen

CURBE_ROWS = 64  # 32 units of 64 bytes
_U32 = 0xFFFFFFFF

Words = Any  # a memoryview of dwords: one whole command, header first


@cache
def _executed_field(command: str, name: str, gen: Gen) -> Field:
    """A field of a command, as a part executes it.  Every context of a device looks up the same ones."""
    layout = executed_command(command, gen)
    return layout.field(name, gen if layout.gens & gen else layout.gens)


class ContextState:
    """One `struct g4_state` with the commands that write it.  `handlers` maps a command's name to its function."""

    def __init__(self, gen: Gen, memory: Memory) -> None:
        self.gen = gen
        self.memory = memory
        self.raw = ffi.new("struct g4_state *")
        self._curbe = ffi.addressof(self.raw, "curbe")
        self.constants_absolute = False  # INSTPM bit 6
        self.handlers = self._commands()

    def _commands(self) -> dict[str, Callable[[Words], None]]:
        """The handlers of commands, of Gen4 and Gen4.5; `state_gen7` has those of Gen7."""
        return {name: self._verbatim(member) for name, member in _VERBATIM} | {
            "STATE_BASE_ADDRESS": self._state_base_address(),
            "STATE_SIP": self._state_sip(),
            "STATE_PREFETCH": self._nothing,
            "URB_FENCE": self._urb_fence(),
            "CS_URB_STATE": self._cs_urb_state(),
            "CONSTANT_BUFFER": self._constant_buffer(),
            "PIPELINE_SELECT": self._pipeline_select(),
            "3DSTATE_VF_STATISTICS": self._vf_statistics(),
            "3DSTATE_PIPELINED_POINTERS": self._pipelined_pointers(),
            "3DSTATE_BINDING_TABLE_POINTERS": self._binding_table_pointers(),
            "3DSTATE_VERTEX_BUFFERS": self._vertex_buffers(),
            "3DSTATE_VERTEX_ELEMENTS": self._vertex_elements,
            "3DSTATE_INDEX_BUFFER": self._index_buffer,
            "3DSTATE_SAMPLER_PALETTE_LOAD0": self._sampler_palette,
            "3DSTATE_SAMPLER_PALETTE_LOAD1": self._sampler_palette1,
            "3DSTATE_CHROMA_KEY": self._chroma_key(),
            "3DSTATE_LINE_STIPPLE": self._line_stipple(),
            "3DSTATE_GS_SVB_INDEX": self._svb_index(),
            "MEDIA_STATE_POINTERS": self._media_state_pointers(),
        }

    # --- saving ----------------------------------------------------------------------------------------------------
    def save(self) -> bytes:
        return bytes(ffi.buffer(self.raw))

    def load(self, saved: bytes) -> None:
        ffi.memmove(self.raw, saved, len(saved))

    def reset(self) -> None:
        """Set the state of a new context."""
        ffi.memmove(self.raw, bytes(ffi.sizeof("struct g4_state")), ffi.sizeof("struct g4_state"))

    # --- commands --------------------------------------------------------------------------------------------------
    def _verbatim(self, member: str) -> Callable[[Words], None]:
        """A handler that keeps the command whole; what a short one lacks is zero."""
        target = ffi.addressof(self.raw, member)
        size = ffi.sizeof(getattr(self.raw, member))

        def store(words: Words) -> None:
            ffi.memmove(target, words[:size // 4].tobytes().ljust(size, b"\0"), size)

        return store

    def _nothing(self, words: Words) -> None:
        """A hint."""

    def _field(self, command: str, name: str) -> Field:
        """A field of a command, as this part executes it."""
        return _executed_field(command, name, self.gen)

    def _mask(self, command: str, name: str, dword: int) -> int:
        """The mask of a field, for commands that come with nearly every draw."""
        return self._field(command, name).mask_in(dword)

    # Each of these makes the handler of one command, with the positions of its fields on this part.
    def _pipeline_select(self) -> Callable[[Words], None]:
        raw, selection = self.raw, self._field("PIPELINE_SELECT", "pipeline_selection").mask

        def select(words: Words) -> None:
            raw.media_selected = words[0] & selection

        return select

    def _vf_statistics(self) -> Callable[[Words], None]:
        raw, enable = self.raw, self._mask("3DSTATE_VF_STATISTICS", "statistics_enable", 0)

        def switch(words: Words) -> None:
            raw.vf_statistics = words[0] & enable != 0

        return switch

    def _state_base_address(self) -> Callable[[Words], None]:
        raw = self.raw
        bases = [(dword, self._mask("STATE_BASE_ADDRESS", f"{name}_modify_enable", dword),
                  self._mask("STATE_BASE_ADDRESS", name, dword), member)
                 for dword, (name, member) in enumerate(_BASES, 1)]

        def set_bases(words: Words) -> None:
            for dword, modify, address, member in bases:
                if words[dword] & modify:
                    setattr(raw, member, words[dword] & address)

        return set_bases

    def _state_sip(self) -> Callable[[Words], None]:
        raw, pointer = self.raw, self._mask("STATE_SIP", "system_instruction_pointer", 1)

        def set_pointer(words: Words) -> None:
            raw.system_instruction_pointer = raw.general_state_base + (words[1] & pointer) & _U32

        return set_pointer

    def _urb_fence(self) -> Callable[[Words], None]:
        raw = self.raw
        fences = [(self._field("URB_FENCE", f"{unit}_urb_reallocation_request"),
                   self._field("URB_FENCE", f"{unit}_fence")) for unit in _FENCES]

        def set_fences(words: Words) -> None:
            for i, (request, fence) in enumerate(fences):
                if request.extract(words):
                    raw.urb_fence[i] = fence.extract(words)

        return set_fences

    def _cs_urb_state(self) -> Callable[[Words], None]:
        raw = self.raw
        size, entries = (self._field("CS_URB_STATE", name)
                         for name in ("urb_entry_allocation_size", "number_of_urb_entries"))

        def allocate(words: Words) -> None:
            raw.cs_urb_entry_units = size.decode(size.extract(words))
            raw.cs_urb_entries = entries.extract(words)
            raw.curbe_rows = 0  # the constants are invalid until the next CONSTANT_BUFFER

        return allocate

    def _constant_buffer(self) -> Callable[[Words], None]:
        """Copies the constants now: later writes to the buffer must not change the draws that follow."""
        raw = self.raw
        valid, start, length = (self._mask("CONSTANT_BUFFER", name, dword) for name, dword in (
            ("valid", 0), ("buffer_starting_address", 1), ("buffer_length", 1)))

        def copy(words: Words) -> None:
            if not words[0] & valid:
                raw.curbe_rows = 0
                return
            base = 0 if self.constants_absolute else raw.general_state_base
            rows = min(2 * ((words[1] & length) + 1), CURBE_ROWS)
            address = base + (words[1] & start) & _U32
            if not lib.g4_mem_peek(self.memory.handle, address, self._curbe, 32 * rows):
                data = self.memory.read(address, 32 * rows, Missing.ZERO, Unit.CS)
                ffi.memmove(self._curbe, data, len(data))
            raw.curbe_rows = rows

        return copy

    def _pipelined_pointers(self) -> Callable[[Words], None]:
        raw = self.raw
        vs, gs, clip, sf, wm, cc = (
            self._mask("3DSTATE_PIPELINED_POINTERS", f"pointer_to_{unit}_state", dword)
            for dword, unit in enumerate(("vs", "gs", "clip", "sf", "wm", "color_calc"), 1))
        gs_enable = self._mask("3DSTATE_PIPELINED_POINTERS", "gs_enable", 2)
        clip_enable = self._mask("3DSTATE_PIPELINED_POINTERS", "clip_enable", 3)

        def set_pointers(words: Words) -> None:
            base = raw.general_state_base
            raw.vs_state = base + (words[1] & vs) & _U32
            raw.gs_state = base + (words[2] & gs) & _U32
            raw.gs_enable = words[2] & gs_enable != 0
            raw.clip_state = base + (words[3] & clip) & _U32
            raw.clip_enable = words[3] & clip_enable != 0
            raw.sf_state = base + (words[4] & sf) & _U32
            raw.wm_state = base + (words[5] & wm) & _U32
            raw.cc_state = base + (words[6] & cc) & _U32

        return set_pointers

    def _binding_table_pointers(self) -> Callable[[Words], None]:
        raw = self.raw
        tables = [(dword, self._mask("3DSTATE_BINDING_TABLE_POINTERS", f"pointer_to_{unit}_binding_table", dword))
                  for dword, unit in enumerate(_BINDING_TABLES, 1)]

        def set_pointers(words: Words) -> None:
            base, table = raw.surface_state_base, raw.binding_table
            for i, (dword, pointer) in enumerate(tables):
                table[i] = base + (words[dword] & pointer) & _U32

        return set_pointers

    def _vertex_buffers(self) -> Callable[[Words], None]:
        raw = self.raw
        (array,) = executed_command("3DSTATE_VERTEX_BUFFERS", self.gen).all_arrays
        number = array.item.field("vertex_buffer_index", self.gen)

        def set_buffers(words: Words) -> None:
            for at in range(1, len(words) - 3, 4):
                index = number.extract(words, at)
                if index < 17:
                    ffi.memmove(raw.vertex_buffer[index], words[at:at + 4], 16)
                    raw.vertex_buffer_valid |= 1 << index

        return set_buffers

    def _vertex_elements(self, words: Words) -> None:
        count = min((len(words) - 1) // 2, 18)
        ffi.memmove(self.raw.vertex_element, words[1:1 + 2 * count], 8 * count)
        self.raw.vertex_elements = count

    def _index_buffer(self, words: Words) -> None:
        ffi.memmove(self.raw.index_buffer, words[:3], 12)

    def _sampler_palette(self, words: Words) -> None:
        data = words[1:257].tobytes()
        ffi.memmove(self.raw.sampler_palette, data, len(data))

    def _sampler_palette1(self, words: Words) -> None:
        data = words[1:257].tobytes()
        ffi.memmove(self.raw.sampler_palette1, data, len(data))

    def _chroma_key(self) -> Callable[[Words], None]:
        raw, number = self.raw, self._field("3DSTATE_CHROMA_KEY", "chroma_key_table_index")

        def set_key(words: Words) -> None:
            ffi.memmove(raw.chroma_key[number.extract(words)], words[2:4].tobytes(), 8)

        return set_key

    def _line_stipple(self) -> Callable[[Words], None]:
        raw = self.raw
        modify, repeat_count, index, counter = (self._field("3DSTATE_LINE_STIPPLE", name) for name in (
            "modify_enable", "line_stipple_repeat_count", "current_stipple_index", "current_repeat_counter"))

        def set_stipple(words: Words) -> None:
            ffi.memmove(raw.line_stipple, words[:3], 12)
            if modify.extract(words):
                repeat = max(1, repeat_count.extract(words))
                raw.line_stipple_position = index.extract(words) * repeat + counter.extract(words)

        return set_stipple

    def _svb_index(self) -> Callable[[Words], None]:
        raw, number = self.raw, self._field("3DSTATE_GS_SVB_INDEX", "index_number")

        def set_index(words: Words) -> None:
            ffi.memmove(raw.svb_index[number.extract(words)], words[:4], 16)

        return set_index

    def _media_state_pointers(self) -> Callable[[Words], None]:
        """Sets the addresses at which VFE finds its state at the next MEDIA_OBJECT."""
        raw = self.raw
        vfe, extended, enable = (self._mask("MEDIA_STATE_POINTERS", name, dword) for name, dword in (
            ("pointer_to_vfe_state", 2), ("extended_state_pointer", 1), ("extended_vfe_state_enable", 1)))

        def set_pointers(words: Words) -> None:
            base = raw.general_state_base
            raw.vfe_state = base + (words[2] & vfe) & _U32
            raw.vfe_extended_state = base + (words[1] & extended) & _U32
            raw.vfe_extended = words[1] & enable != 0
            raw.media_pointers_new = 1

        return set_pointers


# Commands that are kept whole: name, member of struct g4_state.
_VERBATIM = (
    ("3DSTATE_DRAWING_RECTANGLE", "drawing_rectangle"), ("3DSTATE_CONSTANT_COLOR", "constant_color"),
    ("3DSTATE_DEPTH_BUFFER", "depth_buffer"), ("3DSTATE_POLY_STIPPLE_OFFSET", "poly_stipple_offset"),
    ("3DSTATE_POLY_STIPPLE_PATTERN", "poly_stipple"), ("3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP", "depth_offset_clamp"),
    ("3DSTATE_AA_LINE_PARAMETERS", "aa_line"),
)
_BASES = (
    ("general_state_base_address", "general_state_base"), ("surface_state_base_address", "surface_state_base"),
    ("indirect_object_base_address", "indirect_object_base"),
    ("general_state_access_upper_bound", "general_state_bound"),
    ("indirect_object_access_upper_bound", "indirect_object_bound"))
_FENCES = ("vs", "gs", "clip", "sf", "vfe", "cs")  # in the order of struct g4_state
_BINDING_TABLES = ("vs", "gs", "clip", "sf", "ps")
