"""The state of a hardware context, and the commands that only change it.

The state itself is `struct g4_state` of the C core: pointers resolved when their command arrives, other commands kept
whole for the core to unpack when a draw needs them.  A context is saved by copying the struct.  The core executes the
frequent commands by itself (`stored_commands`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.device.stored_commands import (
    StoredCommand,
    StoredCommands,
    clear,
    constants,
    copy,
    flag,
    leave_if,
    place,
    store_bits,
    store_number,
    vertex_buffers,
    vertex_elements,
)
from gen4emu.hw.catalogue import executed_command
from gen4emu.hw.command_reader import Words
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View

CURBE_ROWS = int(lib.G4_CURBE_ROWS)
_U32 = 0xFFFFFFFF


@cache
def _executed_field(command: str, name: str, gen: Gen) -> Field:
    """A field of a command, as a part executes it.  Every context of a device looks up the same ones."""
    layout = executed_command(command, gen)
    return layout.field(name, gen if layout.gens & gen else layout.gens)


class ContextState:
    """One `struct g4_state` with the commands that write it.  `handlers` maps a command's name to its function."""

    def __init__(self, gen: Gen, memory: Memory, port: Any) -> None:
        """`port` is for the writes of commands."""
        self.gen = gen
        self.memory = memory
        self.port = port
        self.raw = ffi.new("struct g4_state *")
        self.stored = StoredCommands(self.raw, port)
        self._curbe = ffi.addressof(self.raw, "curbe")
        self._constants_absolute = False
        self.handlers = self._commands()

    def _commands(self) -> dict[str, Callable[[Words], None]]:
        """The handlers of commands, of Gen4 and Gen4.5; `state_gen7` has those of Gen7."""
        return {name: self._verbatim(member) for name, member in _VERBATIM} | {
            "STATE_BASE_ADDRESS": self._state_base_address(),
            "STATE_SIP": self._state_sip(),
            "STATE_PREFETCH": self.stored.add(),
            "URB_FENCE": self._urb_fence(),
            "CS_URB_STATE": self._cs_urb_state(),
            "CONSTANT_BUFFER": self._constant_buffer(),
            "PIPELINE_SELECT": self._pipeline_select(),
            "3DSTATE_VF_STATISTICS": self._vf_statistics(),
            "3DSTATE_PIPELINED_POINTERS": self._pipelined_pointers(),
            "3DSTATE_BINDING_TABLE_POINTERS": self._binding_table_pointers(),
            "3DSTATE_VERTEX_BUFFERS": self._vertex_buffers(),
            "3DSTATE_VERTEX_ELEMENTS": self.stored.add(
                vertex_elements(place("vertex_element"), 18, place("vertex_elements"))),
            "3DSTATE_INDEX_BUFFER": self._verbatim("index_buffer"),
            "3DSTATE_SAMPLER_PALETTE_LOAD0": self._sampler_palette,
            "3DSTATE_SAMPLER_PALETTE_LOAD1": self._sampler_palette1,
            "3DSTATE_CHROMA_KEY": self._chroma_key(),
            "3DSTATE_LINE_STIPPLE": self._line_stipple(),
            "3DSTATE_GS_SVB_INDEX": self._svb_index(),
            "MEDIA_STATE_POINTERS": self._media_state_pointers(),
        }

    @property
    def constants_absolute(self) -> bool:
        """Whether CONSTANT_BUFFER has an address instead of an offset (INSTPM)."""
        return self._constants_absolute

    @constants_absolute.setter
    def constants_absolute(self, absolute: bool) -> None:
        self._constants_absolute = absolute
        self.stored.set_constants_absolute(absolute)

    # --- for readers of the state in force -------------------------------------------------------------------------
    @property
    def push_constants(self) -> Mapping[str, str]:
        """The commands with constants that PIPE_CONTROL can turn off.

        The values name the commands with which they take effect; "" is for those that do so at once.
        """
        return {}

    def bases(self) -> dict[str, int]:
        """The bases of pointers, by the names that layouts give them."""
        raw = self.raw
        return {"general_state": int(raw.general_state_base), "surface_state": int(raw.surface_state_base),
                "indirect_object": int(raw.indirect_object_base)}

    def copied(self, command: str) -> bytes:
        """What a command has copied from the memory that it points to."""
        return b""

    def registers_of(self, command: str, view: View) -> Iterable[str]:
        """The names of registers with state that belongs to that of a command."""
        return ()

    def vertex_buffer(self, number: int) -> list[int] | None:
        """The dwords of a vertex buffer, if commands can set a part of it; else None."""
        return None

    # --- saving ----------------------------------------------------------------------------------------------------
    def save(self) -> bytes:
        return bytes(ffi.buffer(self.raw))

    def load(self, saved: bytes) -> None:
        ffi.memmove(self.raw, saved, len(saved))

    def initial(self) -> bytes:
        """The state of a new context, for `load`."""
        return bytes(ffi.sizeof("struct g4_state"))

    def reset(self) -> None:
        """Set the state of a new context."""
        self.load(self.initial())

    # --- commands --------------------------------------------------------------------------------------------------
    def _verbatim(self, member: str) -> StoredCommand:
        """A handler that keeps the command whole; what a short one lacks is zero."""
        return self.stored.add(copy(place(member), ffi.sizeof(getattr(self.raw, member)) // 4))

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

    def _vf_statistics(self) -> StoredCommand:
        return self.stored.add(flag(self._field("3DSTATE_VF_STATISTICS", "statistics_enable"), place("vf_statistics")))

    def _bases(self, bases: Iterable[tuple[str, tuple[str, ...]]]) -> StoredCommand:
        """STATE_BASE_ADDRESS: changes the addresses whose Modify Enable is set."""
        return self.stored.add(*(
            store_bits(self._field("STATE_BASE_ADDRESS", name), place(*member),
                       when=self._field("STATE_BASE_ADDRESS", f"{name}_modify_enable"))
            for name, member in bases))

    def _state_base_address(self) -> Callable[[Words], None]:
        return self._bases((name, (member,)) for name, member in _BASES)

    def _state_sip(self) -> Callable[[Words], None]:
        return self.stored.add(store_bits(self._field("STATE_SIP", "system_instruction_pointer"),
                                          place("system_instruction_pointer"), place("general_state_base")))

    def _urb_fence(self) -> StoredCommand:
        first = place("urb_fence")
        return self.stored.add(*(
            store_number(self._field("URB_FENCE", f"{unit}_fence"), first + i,
                         when=self._field("URB_FENCE", f"{unit}_urb_reallocation_request"))
            for i, unit in enumerate(_FENCES)))

    def _cs_urb_state(self) -> StoredCommand:
        """Makes the constants invalid until the next CONSTANT_BUFFER."""
        size, entries = (self._field("CS_URB_STATE", name)
                         for name in ("urb_entry_allocation_size", "number_of_urb_entries"))
        return self.stored.add(store_number(size, place("cs_urb_entry_units")),
                               store_number(entries, place("cs_urb_entries")), clear(place("curbe_rows")))

    def _constant_buffer(self) -> StoredCommand:
        """Copies the constants now: later writes to the buffer must not change the draws that follow."""
        raw = self.raw
        valid, start, length = (self._field("CONSTANT_BUFFER", name) for name in (
            "valid", "buffer_starting_address", "buffer_length"))
        start_mask, length_mask = start.mask_in(1), length.mask_in(1)

        def copy_missing(words: Words) -> None:
            """The core leaves constants to Python that are not in memory: they read as zeros, and are reported."""
            base = 0 if self.constants_absolute else raw.general_state_base
            rows = min(2 * ((words[1] & length_mask) + 1), CURBE_ROWS)
            data = self.memory.read(base + (words[1] & start_mask) & _U32, 32 * rows, Missing.ZERO, Unit.CS)
            ffi.memmove(self._curbe, data, len(data))
            raw.curbe_rows = rows

        rows = place("curbe_rows")
        return self.stored.add(store_bits(start, place("curbe_address"), place("general_state_base")), clear(rows),
                               constants(valid, start, length, place("curbe"), rows, CURBE_ROWS,
                                         place("general_state_base")), fallback=copy_missing)

    def _pipelined_pointers(self) -> StoredCommand:
        def pointer(unit: str) -> Field:
            return self._field("3DSTATE_PIPELINED_POINTERS", f"pointer_to_{unit}_state")

        def enable(unit: str) -> Field:
            return self._field("3DSTATE_PIPELINED_POINTERS", f"{unit}_enable")

        base = place("general_state_base")
        units = {"vs": "vs", "gs": "gs", "clip": "clip", "sf": "sf", "wm": "wm", "cc": "color_calc"}
        return self.stored.add(
            *(store_bits(pointer(unit), place(f"{member}_state"), base) for member, unit in units.items()),
            *(flag(enable(unit), place(f"{unit}_enable")) for unit in ("gs", "clip")))

    def _binding_table_pointers(self) -> StoredCommand:
        first, base = place("binding_table"), place("surface_state_base")
        return self.stored.add(*(
            store_bits(self._field("3DSTATE_BINDING_TABLE_POINTERS", f"pointer_to_{unit}_binding_table"), first + i,
                       base)
            for i, unit in enumerate(_BINDING_TABLES)))

    def _vertex_buffers(self) -> StoredCommand:
        (array,) = executed_command("3DSTATE_VERTEX_BUFFERS", self.gen).all_arrays
        number = array.item.field("vertex_buffer_index", self.gen)
        return self.stored.add(vertex_buffers(number, place("vertex_buffer"), 17, place("vertex_buffer_valid")))

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

    def _line_stipple(self) -> StoredCommand:
        """Drivers repeat it with each draw, but rarely set the position in the pattern, which is left to Python."""
        raw = self.raw
        modify, repeat_count, index, counter = (self._field("3DSTATE_LINE_STIPPLE", name) for name in (
            "modify_enable", "line_stipple_repeat_count", "current_stipple_index", "current_repeat_counter"))

        def set_position(words: Words) -> None:
            ffi.memmove(raw.line_stipple, words[:3], 12)
            repeat = max(1, repeat_count.extract(words))
            raw.line_stipple_position = index.extract(words) * repeat + counter.extract(words)

        return self.stored.add(leave_if(modify.dword, modify.mask_in(modify.dword)), copy(place("line_stipple"), 3),
                               fallback=set_position)

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
