"""The state of a hardware context, and the commands that only change it.

The state itself is `struct g4_state` of the C core: pointers resolved when their command arrives, other commands kept
whole for the core to unpack when a draw needs them.  A context is saved by copying the struct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import common
from gen4emu.hw.gen4.pipeline import VERTEX_BUFFER_STATE
from gen4emu.hw.layout import Command

CURBE_ROWS = 64  # 32 units of 64 bytes
_U32 = 0xFFFFFFFF

Words = Any  # a memoryview of dwords: one whole command, header first


class ContextState:
    """One `struct g4_state` with the commands that write it.  `handlers` maps a command's name to a method."""

    def __init__(self, gen: Gen, memory: Memory) -> None:
        self.gen = gen
        self.memory = memory
        self.raw = ffi.new("struct g4_state *")
        self._curbe = ffi.addressof(self.raw, "curbe")
        self.constants_absolute = False  # INSTPM bit 6
        self.handlers: dict[str, Callable[[Words], None]] = {}
        for name, member in _VERBATIM:
            self.handlers[name] = self._verbatim(member)
        self.handlers |= {
            "STATE_BASE_ADDRESS": self._state_base_address,
            "STATE_SIP": self._state_sip,
            "STATE_PREFETCH": self._nothing,
            "URB_FENCE": self._urb_fence,
            "CS_URB_STATE": self._cs_urb_state,
            "CONSTANT_BUFFER": self._constant_buffer,
            "PIPELINE_SELECT": self._pipeline_select,
            "3DSTATE_VF_STATISTICS": self._vf_statistics,
            "3DSTATE_PIPELINED_POINTERS": self._pipelined_pointers,
            "3DSTATE_BINDING_TABLE_POINTERS": self._binding_table_pointers,
            "3DSTATE_VERTEX_BUFFERS": self._vertex_buffers,
            "3DSTATE_VERTEX_ELEMENTS": self._vertex_elements,
            "3DSTATE_INDEX_BUFFER": self._index_buffer,
            "3DSTATE_SAMPLER_PALETTE_LOAD0": self._sampler_palette,
            "3DSTATE_SAMPLER_PALETTE_LOAD1": self._sampler_palette1,
            "3DSTATE_CHROMA_KEY": self._chroma_key,
            "3DSTATE_LINE_STIPPLE": self._line_stipple,
            "3DSTATE_GS_SVB_INDEX": self._svb_index,
            "MEDIA_STATE_POINTERS": self._media_state_pointers,
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

    def _pipeline_select(self, words: Words) -> None:
        self.raw.media_selected = words[0] & _PIPELINE.mask

    def _vf_statistics(self, words: Words) -> None:
        self.raw.vf_statistics = _VF_ENABLE.extract(words)

    def _state_base_address(self, words: Words) -> None:
        for dword, modify, address, member in _BASES:
            if words[dword] & modify:
                setattr(self.raw, member, words[dword] & address)

    def _state_sip(self, words: Words) -> None:
        self.raw.system_instruction_pointer = self.raw.general_state_base + (words[1] & _SIP) & _U32

    def _urb_fence(self, words: Words) -> None:
        for i, (request, fence) in enumerate(_FENCES):
            if request.extract(words):
                self.raw.urb_fence[i] = fence.extract(words)

    def _cs_urb_state(self, words: Words) -> None:
        self.raw.cs_urb_entry_units = _CS_SIZE.extract(words) + 1
        self.raw.cs_urb_entries = _CS_ENTRIES.extract(words)
        self.raw.curbe_rows = 0  # the constants are invalid until the next CONSTANT_BUFFER

    def _constant_buffer(self, words: Words) -> None:
        """Copy the constants now: later writes to the buffer must not change the draws that follow."""
        if not words[0] & _CONSTANTS_VALID:
            self.raw.curbe_rows = 0
            return
        base = 0 if self.constants_absolute else self.raw.general_state_base
        rows = min(2 * ((words[1] & _CONSTANTS_LENGTH) + 1), CURBE_ROWS)
        address = base + (words[1] & _CONSTANTS_ADDRESS) & _U32
        if not lib.g4_mem_peek(self.memory.handle, address, self._curbe, 32 * rows):
            data = self.memory.read(address, 32 * rows, Missing.ZERO, Unit.CS)
            ffi.memmove(self._curbe, data, len(data))
        self.raw.curbe_rows = rows

    def _pipelined_pointers(self, words: Words) -> None:
        raw, base = self.raw, self.raw.general_state_base
        raw.vs_state = base + (words[1] & _VS_STATE) & _U32
        raw.gs_state = base + (words[2] & _GS_STATE) & _U32
        raw.gs_enable = words[2] & _GS_ENABLE != 0
        raw.clip_state = base + (words[3] & _CLIP_STATE) & _U32
        raw.clip_enable = words[3] & _CLIP_ENABLE != 0
        raw.sf_state = base + (words[4] & _SF_STATE) & _U32
        raw.wm_state = base + (words[5] & _WM_STATE) & _U32
        raw.cc_state = base + (words[6] & _CC_STATE) & _U32

    def _binding_table_pointers(self, words: Words) -> None:
        base, table = self.raw.surface_state_base, self.raw.binding_table
        for i, (dword, pointer) in enumerate(_BINDING_TABLES):
            table[i] = base + (words[dword] & pointer) & _U32

    def _vertex_buffers(self, words: Words) -> None:
        for at in range(1, len(words) - 3, 4):
            index = _VERTEX_BUFFER_INDEX.extract(words, at)
            if index < 17:
                ffi.memmove(self.raw.vertex_buffer[index], words[at:at + 4], 16)
                self.raw.vertex_buffer_valid |= 1 << index

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

    def _chroma_key(self, words: Words) -> None:
        ffi.memmove(self.raw.chroma_key[_CHROMA_KEY_INDEX.extract(words)], words[2:4].tobytes(), 8)

    def _line_stipple(self, words: Words) -> None:
        ffi.memmove(self.raw.line_stipple, words[:3], 12)
        if _STIPPLE_MODIFY.extract(words):
            repeat = max(1, _STIPPLE_REPEAT.extract(words))
            self.raw.line_stipple_position = _STIPPLE_INDEX.extract(words) * repeat + _STIPPLE_COUNTER.extract(words)

    def _svb_index(self, words: Words) -> None:
        ffi.memmove(self.raw.svb_index[_SVB_INDEX.extract(words)], words[:4], 16)

    def _media_state_pointers(self, words: Words) -> None:
        """Set the addresses at which VFE finds its state at the next MEDIA_OBJECT."""
        raw, base = self.raw, self.raw.general_state_base
        raw.vfe_state = base + (words[2] & _VFE_STATE) & _U32
        raw.vfe_extended_state = base + (words[1] & _VFE_EXTENDED_STATE) & _U32
        raw.vfe_extended = words[1] & _VFE_EXTENDED != 0
        raw.media_pointers_new = 1


def _field(command: Command, name: str) -> Field:
    return command.field(name, Gen.CTG)


def _bits(command: Command, name: str, dword: int) -> int:
    """The mask of a field, for commands that come with nearly every draw."""
    return _field(command, name).mask_in(dword)


# Commands that are kept whole: name, member of struct g4_state.
_VERBATIM = (
    ("3DSTATE_DRAWING_RECTANGLE", "drawing_rectangle"), ("3DSTATE_CONSTANT_COLOR", "constant_color"),
    ("3DSTATE_DEPTH_BUFFER", "depth_buffer"), ("3DSTATE_POLY_STIPPLE_OFFSET", "poly_stipple_offset"),
    ("3DSTATE_POLY_STIPPLE_PATTERN", "poly_stipple"), ("3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP", "depth_offset_clamp"),
    ("3DSTATE_AA_LINE_PARAMETERS", "aa_line"),
)
_BASES = tuple(
    (dword, _bits(common.STATE_BASE_ADDRESS, f"{name}_modify_enable", dword),
     _bits(common.STATE_BASE_ADDRESS, name, dword), member)
    for dword, (name, member) in enumerate((
        ("general_state_base_address", "general_state_base"), ("surface_state_base_address", "surface_state_base"),
        ("indirect_object_base_address", "indirect_object_base"),
        ("general_state_access_upper_bound", "general_state_bound"),
        ("indirect_object_access_upper_bound", "indirect_object_bound")), 1))
_SIP = _bits(common.STATE_SIP, "system_instruction_pointer", 1)
_PIPELINE = _field(common.PIPELINE_SELECT_GEN45, "pipeline_selection")
_VF_ENABLE = _field(common.VF_STATISTICS_GEN45, "statistics_enable")
_FENCES = tuple(
    (_field(common.URB_FENCE, f"{unit}_urb_reallocation_request"), _field(common.URB_FENCE, f"{unit}_fence"))
    for unit in ("vs", "gs", "clip", "sf", "vfe", "cs"))
_CS_SIZE = _field(common.CS_URB_STATE, "urb_entry_allocation_size")
_CS_ENTRIES = _field(common.CS_URB_STATE, "number_of_urb_entries")
_CONSTANTS_VALID = _bits(common.CONSTANT_BUFFER, "valid", 0)
_CONSTANTS_ADDRESS = _bits(common.CONSTANT_BUFFER, "buffer_starting_address", 1)
_CONSTANTS_LENGTH = _bits(common.CONSTANT_BUFFER, "buffer_length", 1)
_UNITS = command_named("3DSTATE_PIPELINED_POINTERS", Gen.CTG)
_VS_STATE, _GS_STATE, _CLIP_STATE, _SF_STATE, _WM_STATE, _CC_STATE = (
    _bits(_UNITS, f"pointer_to_{unit}_state", dword)
    for dword, unit in enumerate(("vs", "gs", "clip", "sf", "wm", "color_calc"), 1))
_GS_ENABLE, _CLIP_ENABLE = _bits(_UNITS, "gs_enable", 2), _bits(_UNITS, "clip_enable", 3)
_TABLES = command_named("3DSTATE_BINDING_TABLE_POINTERS", Gen.CTG)
_BINDING_TABLES = tuple((dword, _bits(_TABLES, f"pointer_to_{unit}_binding_table", dword))
                        for dword, unit in enumerate(("vs", "gs", "clip", "sf", "ps"), 1))
_VERTEX_BUFFER_INDEX = VERTEX_BUFFER_STATE.field("vertex_buffer_index", Gen.CTG)
_CHROMA_KEY_INDEX = _field(command_named("3DSTATE_CHROMA_KEY", Gen.CTG), "chroma_key_table_index")
_SVB_INDEX = _field(command_named("3DSTATE_GS_SVB_INDEX", Gen.CTG), "index_number")
_MEDIA = command_named("MEDIA_STATE_POINTERS", Gen.CTG)
_VFE_STATE = _bits(_MEDIA, "pointer_to_vfe_state", 2)
_VFE_EXTENDED_STATE = _bits(_MEDIA, "extended_state_pointer", 1)
_VFE_EXTENDED = _bits(_MEDIA, "extended_vfe_state_enable", 1)
_STIPPLE = command_named("3DSTATE_LINE_STIPPLE", Gen.CTG)
_STIPPLE_MODIFY = _field(_STIPPLE, "modify_enable")
_STIPPLE_REPEAT = _field(_STIPPLE, "line_stipple_repeat_count")
_STIPPLE_INDEX = _field(_STIPPLE, "current_stipple_index")
_STIPPLE_COUNTER = _field(_STIPPLE, "current_repeat_counter")
