"""The state of a hardware context of Gen7, and the commands that only change it.

`struct g4_gen7_state` has a member for nearly every command, with the command's name, which keeps it whole.  Draws on
Gen7 come with about thirty such commands, and the core copies nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Missing, Unit
from gen4emu.device.state import ContextState
from gen4emu.device.stored_commands import Step, StoredCommand, copy, place, vertex_buffers, vertex_elements
from gen4emu.hw.catalogue import catalogue_of, executed_command
from gen4emu.hw.command_reader import Words
from gen4emu.hw.layout import View

_U32 = 0xFFFFFFFF
_MOST_VERTEX_BUFFERS = 33
_MOST_VERTEX_ELEMENTS = 34
_MOST_DECLARATIONS = 128
_ROW = 32  # bytes of a row of constants, and of an interface descriptor

# Commands whose copies other generations have, too: name, member of struct g4_state.
_VERBATIM = (
    ("3DSTATE_DRAWING_RECTANGLE", "drawing_rectangle"), ("3DSTATE_POLY_STIPPLE_OFFSET", "poly_stipple_offset"),
    ("3DSTATE_POLY_STIPPLE_PATTERN", "poly_stipple"), ("3DSTATE_AA_LINE_PARAMETERS", "aa_line"),
)
_BASES = (("general_state_base_address", "general_state_base"), ("surface_state_base_address", "surface_state_base"),
          ("indirect_object_base_address", "indirect_object_base"),
          ("general_state_access_upper_bound", "general_state_bound"),
          ("indirect_object_access_upper_bound", "indirect_object_bound"))
_GEN7_BASES = (("dynamic_state_base_address", "dynamic_state_base"), ("instruction_base_address", "instruction_base"))
_CONSTANTS = ("constant_vs", "constant_hs", "constant_ds", "constant_gs", "constant_ps")
_HINTS = ("STATE_PREFETCH", "SWTESS_BASE_ADDRESS", "GPGPU_CSR_BASE_ADDRESS",
          "3DSTATE_RAST_MULTISAMPLE", *(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}" for stage in
                                        ("VS", "HS", "DS", "GS", "PS")))


class Gen7ContextState(ContextState):
    """A `struct g4_state` with the commands of Gen7 that write it."""

    own_member = "gen7"  # of struct g4_state, with the commands that only this family has
    _address_mask = _U32

    @property
    def own(self) -> Any:
        """The commands that only this family has."""
        return getattr(self.raw, self.own_member)

    def _commands(self) -> dict[str, Callable[[Words], None]]:
        return self._stored_commands() | dict.fromkeys(_HINTS, self.stored.add()) | {
            "STATE_BASE_ADDRESS": self._state_base_address(),
            "STATE_SIP": self._state_sip(),
            "PIPELINE_SELECT": self._pipeline_select(),
            "3DSTATE_VF_STATISTICS": self._vf_statistics(),
            "3DSTATE_VERTEX_BUFFERS": self._vertex_buffers(),
            "3DSTATE_VERTEX_ELEMENTS": self._vertex_elements(),
            "3DSTATE_INDEX_BUFFER": self._verbatim("index_buffer"),
            "3DSTATE_LINE_STIPPLE": self._line_stipple(),
            "3DSTATE_CHROMA_KEY": self._chroma_key(),
            "3DSTATE_MONOFILTER_SIZE": self._mono_filter_size(),
            "3DSTATE_SAMPLER_PALETTE_LOAD0": self._sampler_palette,
            "3DSTATE_SAMPLER_PALETTE_LOAD1": self._sampler_palette1,
            "3DSTATE_SO_DECL_LIST": self._so_decl_list,
            "3DSTATE_SO_BUFFER": self._so_buffer(),
            "MEDIA_VFE_STATE": self.keep("media_vfe_state"),
            "MEDIA_CURBE_LOAD": self._curbe_load(),
            "MEDIA_INTERFACE_DESCRIPTOR_LOAD": self._interface_descriptor_load(),
        }

    def _stored_commands(self) -> dict[str, Callable[[Words], None]]:
        """The commands that are kept whole: those that the family's struct has a member for, and shared ones."""
        names = catalogue_of(self.gen).names
        handlers: dict[str, Callable[[Words], None]] = {name: self._verbatim(member) for name, member in _VERBATIM}
        for member, field in ffi.typeof(self.own).fields:
            name = f"3DSTATE_{member.upper()}"
            if name in names and field.type.kind == "array":
                handlers[name] = self.keep(member)
        return handlers

    @property
    def constants_absolute(self) -> bool:
        """Whether constant buffer 0 has an address instead of an offset from the dynamic state base."""
        return bool(self.raw.gen7.constants_absolute)

    @constants_absolute.setter
    def constants_absolute(self, absolute: bool) -> None:
        self.raw.gen7.constants_absolute = absolute

    def disable_constants(self) -> None:
        """Turn all push constants off, as PIPE_CONTROL with Indirect State Pointers Disable does."""
        for member in _CONSTANTS:
            command = getattr(self.own, member)
            command[1] = command[2] = 0

    # --- for readers of the state in force -------------------------------------------------------------------------
    @property
    def push_constants(self) -> Mapping[str, str]:
        return {f"3DSTATE_{member.upper()}": "" for member in _CONSTANTS}

    def bases(self) -> dict[str, int]:
        gen7 = self.raw.gen7
        return super().bases() | {"dynamic_state": int(gen7.dynamic_state_base),
                                  "instruction": int(gen7.instruction_base)}

    def copied(self, command: str) -> bytes:
        if command == "MEDIA_INTERFACE_DESCRIPTOR_LOAD":
            return bytes(ffi.buffer(self.own.media_descriptor, _ROW * int(self.own.media_descriptors)))
        if command == "MEDIA_CURBE_LOAD":
            return bytes(ffi.buffer(self.raw.curbe, _ROW * int(self.raw.curbe_rows)))
        return super().copied(command)

    def registers_of(self, command: str, view: View) -> Iterable[str]:
        if command == "3DSTATE_SO_BUFFER":
            yield f"SO_WRITE_OFFSET{view.raw('so_buffer_index')}"

    def vertex_buffer(self, number: int) -> list[int] | None:
        return list(self.own.vertex_buffer[number]) if number < _MOST_VERTEX_BUFFERS else None

    # --- commands --------------------------------------------------------------------------------------------------
    def keep(self, member: str, *before: Step, fallback: Callable[[Words], None] | None = None) -> StoredCommand:
        """A handler that keeps the command whole in the family's struct, after the steps `before`."""
        size = ffi.sizeof(getattr(self.own, member))
        return self.stored.add(*before, copy(place(self.own_member, member), size // 4), fallback=fallback)

    def _vertex_elements(self) -> StoredCommand:
        return self.stored.add(vertex_elements(place(self.own_member, "vertex_element"), _MOST_VERTEX_ELEMENTS,
                                               place(self.own_member, "vertex_elements")))

    def _state_base_address(self) -> Callable[[Words], None]:
        return self._bases([*((name, (member,)) for name, member in _BASES),
                            *((name, ("gen7", member)) for name, member in _GEN7_BASES)])

    def _state_sip(self) -> Callable[[Words], None]:
        raw, pointer = self.raw, self._mask("STATE_SIP", "system_instruction_pointer", 1)

        def set_pointer(words: Words) -> None:
            offset = words[1] & pointer
            raw.system_instruction_pointer = (raw.gen7.instruction_base + offset & 0xFFFFFFFF) if offset else 0

        return set_pointer

    def _vertex_buffers(self) -> StoredCommand:
        """Keeps buffers by their numbers; without Address Modify Enable, start and end stay."""
        (array,) = executed_command("3DSTATE_VERTEX_BUFFERS", self.gen).all_arrays
        number, modify = (array.item.field(name, self.gen) for name in ("vertex_buffer_index", "address_modify_enable"))
        return self.stored.add(vertex_buffers(number, place("gen7", "vertex_buffer"), _MOST_VERTEX_BUFFERS,
                                              modify=modify))

    def _mono_filter_size(self) -> Callable[[Words], None]:
        size = self.raw.mono_filter_size
        fields = [self._field("3DSTATE_MONOFILTER_SIZE", f"monochrome_filter_{name}") for name in ("width", "height")]

        def set_size(words: Words) -> None:
            for i, field in enumerate(fields):
                size[i] = field.extract(words) if field.dword < len(words) else 0

        return set_size

    def _so_decl_list(self, words: Words) -> None:
        data = words[:3 + 2 * _MOST_DECLARATIONS].tobytes()
        ffi.memmove(self.own.so_decl_list, data, len(data))

    def _so_buffer(self) -> Callable[[Words], None]:
        buffers, number = self.raw.gen7.so_buffer, self._field("3DSTATE_SO_BUFFER", "so_buffer_index")

        def set_buffer(words: Words) -> None:
            ffi.memmove(buffers[number.extract(words)], words, 16)

        return set_buffer

    # --- media and GPGPU -------------------------------------------------------------------------------------------
    def _load(self, address: int, target: object, size: int) -> None:
        """Copies memory now: later writes to it must not change the threads that follow."""
        if not lib.g4_mem_peek(self.memory.handle, address, target, size):
            ffi.memmove(target, self.memory.read(address, size, Missing.ZERO, Unit.CS), size)

    def _curbe_load(self) -> Callable[[Words], None]:
        raw, own, target = self.raw, self.own, ffi.addressof(self.raw, "curbe")
        most = ffi.sizeof(raw.curbe) // _ROW
        length, start = (self._mask("MEDIA_CURBE_LOAD", name, dword) for name, dword in (
            ("curbe_total_data_length", 2), ("curbe_data_start_address", 3)))

        def load(words: Words) -> None:
            rows = min(-(-(words[2] & length) // _ROW), most)
            self._load(own.dynamic_state_base + (words[3] & start) & self._address_mask, target, rows * _ROW)
            raw.curbe_rows = rows

        return load

    def _interface_descriptor_load(self) -> Callable[[Words], None]:
        own, target = self.own, ffi.addressof(self.own, "media_descriptor")
        most = len(own.media_descriptor)
        length, start = (self._mask("MEDIA_INTERFACE_DESCRIPTOR_LOAD", name, dword) for name, dword in (
            ("interface_descriptor_total_length", 2), ("interface_descriptor_data_start_address", 3)))

        def load(words: Words) -> None:
            count = min((words[2] & length) // _ROW, most)
            address = own.dynamic_state_base + (words[3] & start) & self._address_mask
            self._load(address, target, count * _ROW)
            own.media_descriptor_address, own.media_descriptors = address, count

        return load
