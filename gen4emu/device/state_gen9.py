"""The state of a hardware context of Gen9, and the commands that only change it.

`struct g4_gen9_state` keeps nearly every command whole, as that of Gen7 does; addresses have 48 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gen4emu._native import ffi
from gen4emu.device.memory import Missing, Unit
from gen4emu.device.resource_streamer import STAGES, ResourceStreamer
from gen4emu.device.state_gen7 import Gen7ContextState
from gen4emu.device.stored_commands import StoredCommand, leave_in, move, place, slot, vertex_buffers
from gen4emu.hw.catalogue import executed_command
from gen4emu.hw.command_reader import Words
from gen4emu.hw.page_tables import ADDRESS_MASK

_MOST_VERTEX_BUFFERS = 33
_MOST_VERTEX_ELEMENTS = 34
_LOAD_OFFSET = 0xFFFFFFFF  # of 3DSTATE_SO_BUFFER: the stream offset is in memory
_BASES = ("general_state", "surface_state", "dynamic_state", "indirect_object", "instruction", "bindless_surface_state")
_CONSTANT_DWORDS = 11


class Gen9ContextState(Gen7ContextState):
    """A `struct g4_state` with the commands of Gen9 that write it."""

    own_member = "gen9"
    _address_mask = ADDRESS_MASK

    def _commands(self) -> dict[str, Callable[[Words], None]]:
        self.resource_streamer = ResourceStreamer(self.own, self.memory, self.port, self.gen)
        found = super()._commands() | self.resource_streamer.commands() | {
            "3DSTATE_URB_CLEAR": self.stored.add(),
            "3DSTATE_INDEX_BUFFER": self.keep("index_buffer"),
            "3DSTATE_VF_INSTANCING": self._vf_instancing(),
        }
        for number, stage in enumerate(STAGES):
            found[f"3DSTATE_CONSTANT_{stage}"] = self.keep(f"pending_{stage.lower()}")
            found[f"3DSTATE_BINDING_TABLE_POINTERS_{stage}"] = self._table_pointer(number, stage.lower())
        return found

    def _table_pointer(self, number: int, stage: str) -> StoredCommand:
        """Keeps the pointer; the constants of the stage that are pending take effect."""
        member = f"binding_table_pointers_{stage}"
        commit = move(place("gen9", f"pending_{stage}"), place("gen9", f"constant_{stage}"), _CONSTANT_DWORDS)
        keep = self.keep(member, commit)

        def point(words: Words) -> None:
            keep(words)
            self.resource_streamer.commit(number)

        return self.keep(member, leave_in(place("gen9", "streamer", "on")), commit, fallback=point)

    @property
    def push_constants(self) -> Mapping[str, str]:
        return {f"3DSTATE_CONSTANT_{stage}": f"3DSTATE_BINDING_TABLE_POINTERS_{stage}" for stage in STAGES}

    def bases(self) -> dict[str, int]:
        return {name: int(getattr(self.own, f"{name}_base")) for name in _BASES}

    def disable_constants(self) -> None:
        super().disable_constants()
        for stage in STAGES:
            pending = getattr(self.own, f"pending_{stage.lower()}")
            pending[1] = pending[2] = 0

    @property
    def constants_absolute(self) -> bool:
        """Whether constant buffer 0 has an address instead of an offset from the dynamic state base."""
        return not self.raw.gen9.constants_relative

    @constants_absolute.setter
    def constants_absolute(self, absolute: bool) -> None:
        self.raw.gen9.constants_relative = not absolute

    def _state_base_address(self) -> Callable[[Words], None]:
        own = self.own
        bases = [(f"{name}_base", self._field("STATE_BASE_ADDRESS", f"{name}_base_address"),
                  self._field("STATE_BASE_ADDRESS", f"{name}_base_address_modify_enable")) for name in _BASES]
        size = self._field("STATE_BASE_ADDRESS", "bindless_surface_state_size")

        def set_bases(words: Words) -> None:
            for member, base, modify in bases:
                if modify.dword < len(words) and modify.extract(words):
                    setattr(own, member, int(base.decode(base.extract(words))) & ADDRESS_MASK)
                    if member == "bindless_surface_state_base":
                        own.bindless_surface_state_size = size.decode(size.extract(words))

        return set_bases

    def _state_sip(self) -> Callable[[Words], None]:
        pointer = self._field("STATE_SIP", "system_instruction_pointer")

        def set_pointer(words: Words) -> None:
            self.raw.system_instruction_pointer = pointer.extract(words) & 0xFFFFFFFF

        return set_pointer

    def _pipeline_select(self) -> Callable[[Words], None]:
        raw = self.raw
        selection, mask = (self._field("PIPELINE_SELECT", name) for name in ("pipeline_selection", "mask_bits"))

        def select(words: Words) -> None:
            if mask.extract(words) & selection.mask:
                raw.media_selected = words[0] & selection.mask

        return select

    def _vertex_buffers(self) -> StoredCommand:
        """Keeps buffers by their numbers; without Address Modify Enable, start and size stay."""
        (array,) = executed_command("3DSTATE_VERTEX_BUFFERS", self.gen).all_arrays
        number, modify = (array.item.field(name, self.gen) for name in ("vertex_buffer_index", "address_modify_enable"))
        return self.stored.add(vertex_buffers(number, place("gen9", "vertex_buffer"), _MOST_VERTEX_BUFFERS,
                                              modify=modify, sizes=True))

    def _vf_instancing(self) -> StoredCommand:
        return self.stored.add(slot(self._field("3DSTATE_VF_INSTANCING", "vertex_element_index"),
                                    place("gen9", "vf_instancing"), _MOST_VERTEX_ELEMENTS, 2))

    def _so_buffer(self) -> Callable[[Words], None]:
        """Keeps the buffer; sets the offset where it is written next, to a number or to a dword in memory."""
        buffers, offsets = self.own.so_buffer, self.raw.gen7.so_write_offset
        number, write, address, offset = (self._field("3DSTATE_SO_BUFFER", name) for name in (
            "so_buffer_index", "stream_offset_write_enable", "stream_output_buffer_offset_address", "stream_offset"))

        def set_buffer(words: Words) -> None:
            if len(words) < 8:
                return
            i = number.extract(words)
            ffi.memmove(buffers[i], words[1:8].tobytes(), 28)
            if write.extract(words):
                value = offset.extract(words)
                if value == _LOAD_OFFSET:
                    place_of = int(address.decode(address.extract(words))) & ADDRESS_MASK
                    value = int.from_bytes(self.memory.read(place_of, 4, Missing.ZERO, Unit.CS), "little")
                offsets[i] = value

        return set_buffer
