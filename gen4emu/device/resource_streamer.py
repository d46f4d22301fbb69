"""The resource streamer of Gen9: binding tables that commands edit, gathered constants, registers of DX9 constants.

It keeps tables on the die and writes them to memory when a binding table pointer of their stage follows (KBL PRM
vol. 2a).  Its commands have effects only while it parses the batch.  `struct g4_resource_streamer` is its state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.hw.catalogue import block_named, executed_command
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.state import buffer_entries
from gen4emu.hw.gen9.resource_streamer import ConstantMove, GatherTableUpdate, OnDieTable, ShaderSelect
from gen4emu.hw.layout import View
from gen4emu.hw.page_tables import ADDRESS_MASK

STAGES = ("VS", "HS", "DS", "GS", "PS")
_DX9 = ("VS", "PS")  # stages with DX9 constants
_BLOCK = 16  # entries of a binding table that a bit of a mask names
_ELEMENT = 16  # bytes that a gather entry selects channels of
_SURFACE_BYTES = 64
_DX9_FIRST = {"f": 0, "i": 8, "b": 9}  # dwords of valid bits
_GATHER_HEAD = 3  # dwords before the entries

Handler = Callable[[Words], None]


class ResourceStreamer:
    """The commands of the resource streamer, for one context."""

    def __init__(self, own: Any, memory: Memory, port: Any, gen: Gen) -> None:
        """`own` is a `struct g4_gen9_state`, `port` is for writes."""
        self._state, self._raw = own, own.streamer
        self._memory, self._port, self._gen = memory, port, gen

    def commands(self) -> dict[str, Handler]:
        """Handlers by name."""
        found: dict[str, Handler] = {
            "3DSTATE_GATHER_POOL_ALLOC": self._gather_pool,
            "3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC": self._dx9_pool,
            "3DSTATE_RS_CONSTANT_POINTER": self._constant_pointer,
        }
        for number, stage in enumerate(STAGES):
            found[f"3DSTATE_BINDING_TABLE_EDIT_{stage}"] = self._edit(stage, number)
            found[f"3DSTATE_GATHER_CONSTANT_{stage}"] = self._gather(stage, number)
        for number, stage in enumerate(_DX9):
            for kind in "fib":
                name = f"3DSTATE_DX9_CONSTANT{kind.upper()}_{stage}"
                found[name] = self._dx9_constants(name, number, kind)
            found[f"3DSTATE_DX9_LOCAL_VALID_{stage}"] = self._dx9_valid(number)
            found[f"3DSTATE_DX9_GENERATE_ACTIVE_{stage}"] = self._dx9_generate(stage, number)
        return found

    @property
    def on(self) -> bool:
        """Whether it parses the batch."""
        return bool(self._raw.on)

    @on.setter
    def on(self, parses: bool) -> None:
        self._raw.on = parses

    def commit(self, stage: int) -> None:
        """A binding table pointer of a stage: write its table and its gathered constants to memory."""
        pool = self._pool("binding_table_pool", self._state.binding_table_pool_alloc)
        if pool is not None:
            base, size = pool
            kept = getattr(self._state, f"binding_table_pointers_{STAGES[stage].lower()}")
            view = self._view(f"3DSTATE_BINDING_TABLE_POINTERS_{STAGES[stage]}", kept)
            offset = int(getattr(view, f"pointer_to_{STAGES[stage].lower()}_binding_table"))
            self._write(base, size, 2 * offset, bytes(ffi.buffer(self._raw.binding_table[stage])))
        self._commit_gather(stage)

    # --- memory ----------------------------------------------------------------------------------------------------
    def _view(self, name: str, words: Any) -> View:
        return executed_command(name, self._gen).view(words, gen=self._gen, dwords=len(words))

    def _pool(self, pool: str, words: Any) -> tuple[int, int] | None:
        """The base and the size of a pool in bytes; None if it is not enabled."""
        view = self._view(f"3DSTATE_{pool.upper()}_ALLOC", list(words))
        if not getattr(view, f"{pool}_enable"):
            return None
        return getattr(view, f"{pool}_base_address") & ADDRESS_MASK, int(getattr(view, f"{pool}_buffer_size"))

    def _write(self, base: int, size: int, offset: int, data: bytes) -> None:
        """Write to a pool; what lies beyond its end is lost."""
        data = data[:max(size - offset, 0)]
        if data:
            lib.g4_mem_write(self._port, base + offset & ADDRESS_MASK, data, len(data))

    def _read(self, address: int, size: int) -> bytes:
        return self._memory.read(address & ADDRESS_MASK, size, Missing.ZERO, Unit.CS)

    # --- binding tables --------------------------------------------------------------------------------------------
    def _edit(self, stage: str, number: int) -> Handler:
        name, table = f"3DSTATE_BINDING_TABLE_EDIT_{stage}", self._raw.binding_table[number]

        def edit(words: Words) -> None:
            if not self.on or len(words) < 2:
                return
            view = self._view(name, words)
            for block in range(_BLOCK):
                if view.binding_table_block_clear >> block & 1:
                    for entry in range(_BLOCK * block, _BLOCK * (block + 1)):
                        table[entry] = 0
            for entry in view.entries:
                table[entry.binding_table_index] = entry.surface_state_pointer

        return edit

    # --- gathered constants ----------------------------------------------------------------------------------------
    def _gather_pool(self, words: Words) -> None:
        _keep(self._raw.gather_pool_alloc, words)

    def _gather(self, stage: str, number: int) -> Handler:
        name, kept = f"3DSTATE_GATHER_CONSTANT_{stage}", self._raw.gather[number]
        valid = executed_command(name, self._gen).field("constant_buffer_valid", self._gen).mask_in(1)

        def gather(words: Words) -> None:
            if not self.on or len(words) < _GATHER_HEAD:
                return
            view = self._view(name, words)
            if view.on_die_table == OnDieTable.LOAD:
                _keep(kept, words)
            elif kept[0]:  # a new place for the constants of the table that is there
                head = [kept[0], kept[1] & valid | words[1] & ~valid, words[2]]
                kept[0:_GATHER_HEAD] = head

        return gather

    def _commit_gather(self, stage: int) -> None:
        pool = self._pool("gather_pool", self._raw.gather_pool_alloc)
        kept = self._raw.gather[stage]
        if pool is None or not kept[0]:
            return
        name = f"3DSTATE_GATHER_CONSTANT_{STAGES[stage]}"
        view = self._view(name, list(kept)[:executed_command(name, self._gen).length(kept[0])])
        if view.update_gather_table_only == GatherTableUpdate.NON_COMMIT_GATHER:
            return
        data = b"".join(self._gathered(stage, view, pair, i) for pair in view.entries for i in (0, 1))
        self._write(*pool, view.gather_buffer_offset, data)

    def _gathered(self, stage: int, view: View, pair: Any, entry: int) -> bytes:
        """The channels that an entry of a pair selects, of 16 bytes of a constant buffer."""
        offset, mask, index = (int(getattr(pair, f"entry_{entry}_{name}")) for name in (
            "constant_buffer_offset", "channel_mask", "binding_table_index_offset"))
        if not mask:
            return b""
        element = bytes(_ELEMENT)
        is_dx9 = STAGES[stage] in _DX9 and view.constant_buffer_dx9_enable
        if is_dx9 and view.dx9_on_die_register_read_enable:
            registers = self._active(_DX9.index(STAGES[stage]), shadows=True, clamps=False)
            element = registers[offset:offset + _ELEMENT]
        elif view.constant_buffer_valid >> index & 1:
            place = _BLOCK * int(view.constant_buffer_binding_table_block) + index
            base, size = self._buffer(self._raw.binding_table[stage][place])
            inside = max(min(size - offset, _ELEMENT), 0)
            element = self._read(base + offset, inside).ljust(_ELEMENT, b"\0")
        return b"".join(element[4 * i:4 * i + 4] for i in range(4) if mask >> i & 1)

    def _buffer(self, surface: int) -> tuple[int, int]:
        """The address and the bytes of a buffer, by the offset of its surface state."""
        data = self._read(int(self._state.surface_state_base) + surface, _SURFACE_BYTES)
        view = block_named("RENDER_SURFACE_STATE", self._gen).view(struct.unpack("<16I", data), gen=self._gen)
        entries = buffer_entries(view)
        return view.surface_base_address & ADDRESS_MASK, entries * int(view.surface_pitch)

    # --- DX9 constants ---------------------------------------------------------------------------------------------
    def _dx9_pool(self, words: Words) -> None:
        _keep(self._raw.dx9_constant_buffer_pool_alloc, words)
        if self._pool("dx9_constant_buffer_pool", self._raw.dx9_constant_buffer_pool_alloc) is None:
            for registers in self._raw.dx9:
                _keep(registers.valid, ())

    def _has_dx9(self) -> bool:
        pool = self._pool("dx9_constant_buffer_pool", self._raw.dx9_constant_buffer_pool_alloc)
        return self.on and pool is not None

    def _dx9_constants(self, name: str, stage: int, kind: str) -> Handler:
        registers = self._raw.dx9[stage]
        dwords = 1 if kind == "b" else 4  # of a constant

        def load(words: Words) -> None:
            if not self._has_dx9() or len(words) < 2:
                return
            view = self._view(name, words)
            target = getattr(registers.global_ if view.global_constant_register else registers.local, kind)
            first = int(view.constant_register_index)
            count = min((len(words) - 2) // dwords, len(target) - first)
            data = words[2:2 + dwords * count].tobytes()
            ffi.memmove(ffi.addressof(target, first), data, len(data))
            if not view.global_constant_register:
                for i in range(first, first + count):
                    registers.valid[_DX9_FIRST[kind] + i // 32] |= 1 << i % 32

        return load

    def _dx9_valid(self, stage: int) -> Handler:
        def set_valid(words: Words) -> None:
            if self._has_dx9():
                _keep(self._raw.dx9[stage].valid, words[1:])

        return set_valid

    def _dx9_generate(self, stage: str, number: int) -> Handler:
        name, member = f"3DSTATE_DX9_GENERATE_ACTIVE_{stage}", f"pointer_to_{stage.lower()}_constant_buffer"

        def generate(words: Words) -> None:
            pool = self._pool("dx9_constant_buffer_pool", self._raw.dx9_constant_buffer_pool_alloc)
            if not self.on or pool is None or len(words) < 2:
                return
            view = self._view(name, words)
            if not view.buffer_write_disable:
                self._write(*pool, getattr(view, member),
                            self._active(number, bool(view.dx9_enable), bool(view.clamp_enable)))
            if view.local_valid_bit_reset_enable:
                _keep(self._raw.dx9[number].valid, ())

        return generate

    def _active(self, stage: int, shadows: bool, clamps: bool) -> bytes:
        """All constants of a stage: floats, integers, booleans.  Valid local ones replace global ones."""
        registers = self._raw.dx9[stage]
        found = b""
        for kind in "fib":
            for i, value in enumerate(getattr(registers.global_, kind)):
                if shadows and registers.valid[_DX9_FIRST[kind] + i // 32] >> i % 32 & 1:
                    value = getattr(registers.local, kind)[i]
                elif kind == "f" and clamps:
                    found += _clamped(bytes(ffi.buffer(value)))
                    continue
                found += struct.pack("<I", value) if kind == "b" else bytes(ffi.buffer(value))
        return found

    def _constant_pointer(self, words: Words) -> None:
        """Moves the global constants of a stage to memory or from it."""
        if not self._has_dx9() or len(words) < 4:
            return
        view = self._view("3DSTATE_RS_CONSTANT_POINTER", words)
        registers = self._raw.dx9[1 if view.shader_select == ShaderSelect.PS else 0].global_
        image, address = ffi.buffer(ffi.addressof(registers)), view.global_constant_buffer_address & ADDRESS_MASK
        if view.operation_load_or_store == ConstantMove.LOAD:
            image[:] = self._read(address, len(image))
        else:
            lib.g4_mem_write(self._port, address, bytes(image), len(image))


def _keep(target: Any, words: Words | tuple[int, ...]) -> None:
    """Keep a command, or nothing; what it lacks is 0."""
    size = len(target)
    target[0:size] = [*words[:size], *([0] * (size - len(words[:size])))]


def _clamped(data: bytes) -> bytes:
    return struct.pack("<4f", *(min(max(value, -1.0), 1.0) for value in struct.unpack("<4f", data)))
