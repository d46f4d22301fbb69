"""The command streamer of Gen9: MI commands, PIPE_CONTROL and depth operations where they differ from Gen7's.

Addresses have 48 bits.  A batch can also compute on memory (MI_ATOMIC, MI_COPY_MEM_MEM), wait for it
(MI_SEMAPHORE_WAIT), and skip its commands (MI_SET_PREDICATE).
"""

from __future__ import annotations

from collections.abc import Callable

from gen4emu.device.blitter import FAST_COPY_BYTES, FAST_COPY_TILINGS
from gen4emu.device.command_streamer import Handler, SavedContext
from gen4emu.device.command_streamer_gen7 import Gen7CommandStreamer
from gen4emu.device.registers import InterruptNames
from gen4emu.device.state_gen9 import Gen9ContextState
from gen4emu.device.stored_commands import leave_if, write_immediate_48
from gen4emu.device.tiling import Tiling
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.gen8.mi import ATOMIC_OPERATION, AtomicOpcode, PredicateEnableGen8, SemaphoreCompare
from gen4emu.hw.gen75.mi import ResourceStreamerControl
from gen4emu.hw.layout import Command
from gen4emu.hw.page_tables import ADDRESS_MASK

_IGNORED = ("MI_FORCE_WAKEUP", "MI_SEMAPHORE_SIGNAL")
_DEPTH_OPERATIONS = ("stencil_buffer_clear_enable", "depth_buffer_clear_enable", "depth_buffer_resolve_enable",
                     "hierarchical_depth_buffer_resolve_enable")
_NEVER_SKIPPED = ("MI_SET_PREDICATE", "MI_BATCH_BUFFER_START", "MI_BATCH_BUFFER_END")
_SKIPPED: dict[int, tuple[str, int]] = {  # MI_SET_PREDICATE skips what follows while the result in the register is this
    PredicateEnableGen8.NOOP_ON_RESULT2_CLEAR: ("MI_PREDICATE_RESULT_2", 0),
    PredicateEnableGen8.NOOP_ON_RESULT2_SET: ("MI_PREDICATE_RESULT_2", 1),
    PredicateEnableGen8.NOOP_ON_RESULT_CLEAR: ("MI_PREDICATE_RESULT", 0),
    PredicateEnableGen8.NOOP_ON_RESULT_SET: ("MI_PREDICATE_RESULT", 1),
}
_SATISFIED: dict[int, Callable[[int, int], bool]] = {
    SemaphoreCompare.SAD_GREATER_THAN_SDD: lambda memory, data: memory > data,
    SemaphoreCompare.SAD_GREATER_THAN_OR_EQUAL_SDD: lambda memory, data: memory >= data,
    SemaphoreCompare.SAD_LESS_THAN_SDD: lambda memory, data: memory < data,
    SemaphoreCompare.SAD_LESS_THAN_OR_EQUAL_SDD: lambda memory, data: memory <= data,
    SemaphoreCompare.SAD_EQUAL_SDD: lambda memory, data: memory == data,
    SemaphoreCompare.SAD_NOT_EQUAL_SDD: lambda memory, data: memory != data,
}


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


# MI_ATOMIC: the new value of old value, first and second operand, by the opcode for the smallest ones.  IMAX to UMIN
# need the number of bits, which comes last.
_ATOMIC: dict[int, Callable[[int, int, int, int], int]] = {
    AtomicOpcode.AND: lambda old, a, b, bits: old & a,
    AtomicOpcode.OR: lambda old, a, b, bits: old | a,
    AtomicOpcode.XOR: lambda old, a, b, bits: old ^ a,
    AtomicOpcode.MOVE: lambda old, a, b, bits: a,
    AtomicOpcode.INC: lambda old, a, b, bits: old + 1,
    AtomicOpcode.DEC: lambda old, a, b, bits: old - 1,
    AtomicOpcode.ADD: lambda old, a, b, bits: old + a,
    AtomicOpcode.SUB: lambda old, a, b, bits: old - a,
    AtomicOpcode.RSUB: lambda old, a, b, bits: a - old,
    AtomicOpcode.IMAX: lambda old, a, b, bits: max(old, a, key=lambda value: _signed(value, bits)),
    AtomicOpcode.IMIN: lambda old, a, b, bits: min(old, a, key=lambda value: _signed(value, bits)),
    AtomicOpcode.UMAX: lambda old, a, b, bits: max(old, a),
    AtomicOpcode.UMIN: lambda old, a, b, bits: min(old, a),
    AtomicOpcode.CMP_WR: lambda old, a, b, bits: b if old == a else old,
    AtomicOpcode.PREDEC: lambda old, a, b, bits: old - 1,
}


class Gen9CommandStreamer(Gen7CommandStreamer):
    """Parses one ring of Gen9."""

    state: Gen9ContextState
    state_class = Gen9ContextState
    interrupt_names = InterruptNames(
        status="GT_ISR_0", mask="GT_IMR_0", identity="GT_IIR_0", error_identity="RENDER_EIR",
        error_mask="RENDER_EMR", error_status="RENDER_ESR", status_page_mask="RENDER_HWSTAM", prefix="render_",
        error="cs_error", page_fault=("FAULT_REG", "valid_bit"))
    walker_dimensions = (7, 10, 12)
    media_objects = (*Gen7CommandStreamer.media_objects, "MEDIA_OBJECT_GRPID")

    # --- handlers --------------------------------------------------------------------------------------------------
    def _own_handlers(self) -> dict[str, Handler]:
        self._skipped = 0  # dwords that MI_SET_PREDICATE has skipped in the running batch
        found = super()._own_handlers()
        found |= dict.fromkeys(_IGNORED, self._nothing)
        return found | {
            "MI_ATOMIC": self._atomic,
            "MI_COPY_MEM_MEM": self._copy_memory,
            "MI_SEMAPHORE_WAIT": self._semaphore_wait,
            "MI_RS_CONTROL": self._resource_streamer_control,
            "3DSTATE_WM_HZ_OP": self._depth_operation(),
            "MI_RS_STORE_DATA_IMM": self._resource_streamer_store,
        }

    def _pipeline_handler(self, known: Command, length: int, command: Command | None) -> Handler:
        handler = super()._pipeline_handler(known, length, command)
        return self._fast_copy(handler) if known.name == "XY_FAST_COPY_BLT" else handler

    def _fast_copy(self, copy: Handler) -> Handler:
        """The tiles of TILEYF and TILEYS have no surfaces here, either."""
        report = self._not_executed("XY_FAST_COPY_BLT with tiles of TILEYF or TILEYS, or an unknown color depth,")

        def run(words: Words) -> None:
            view = self._view("XY_FAST_COPY_BLT", [*words, *[0] * (10 - len(words))])
            sides = [(getattr(view, f"{side}_tiling_method"), getattr(view, f"{side}_tile_y_type"))
                     for side in ("source", "destination")]
            known = view.color_depth in FAST_COPY_BYTES and all(
                tiling in FAST_COPY_TILINGS and not (FAST_COPY_TILINGS[tiling] is Tiling.Y and kind)
                for tiling, kind in sides)
            (copy if known else report)(words)

        return run

    def _flush(self) -> Handler:
        """Gen9 has no MI_FLUSH."""
        return self._nothing

    def topology(self, words: Words) -> str:
        """The command before the draw gives the topology, not the draw."""
        return self._view("3DSTATE_VF_TOPOLOGY", list(self.state.own.vf_topology)).text("primitive_topology_type")

    # --- contexts --------------------------------------------------------------------------------------------------
    def enter_context(self, number: int) -> None:
        """Continue the state of a logical context; a new one starts with the initial state."""
        if number == self._context:
            return
        if self._context is not None and number not in self._contexts:
            self._contexts[number] = SavedContext(self.state.initial(), {})
        self._switch_context(number, restore=True)

    # --- batches ---------------------------------------------------------------------------------------------------
    def _run_batch(self) -> None:
        self._skipped = 0
        super()._run_batch()

    def _batch_buffer_start(self) -> Handler:
        command = self.catalogue.command("MI_BATCH_BUFFER_START")
        address = command.field("batch_buffer_start_address", self.gen)
        predicated, second_level, streamed = (self._mask("MI_BATCH_BUFFER_START", name, 0) for name in (
            "predication_enable", "second_level_batch_buffer", "resource_streamer_enable"))

        def start(words: Words) -> None:
            if len(words) < 3:
                self._hang("MI_BATCH_BUFFER_START without an address")
            if words[0] & predicated and not self._is_predicate_set():
                return
            if words[0] & streamed or not self.position.in_batch:  # a batch that another one starts inherits it
                self.state.resource_streamer.on = bool(words[0] & streamed)
            if words[0] & second_level and self.position.in_batch:
                self._returns.append(self.position.address + 4 * len(words))
            self._reader.jump(int(address.decode(address.extract(words))) & ADDRESS_MASK)

        return start

    def _resource_streamer_control(self, words: Words) -> None:
        view = self._view("MI_RS_CONTROL", words)
        self.state.resource_streamer.on = view.resource_streamer_control == ResourceStreamerControl.START

    def _resource_streamer_store(self, words: Words) -> None:
        """The resource streamer writes; the command streamer skips the command."""
        if len(words) < 4:
            self.findings.add("MI_RS_STORE_DATA_IMM without data", self._where())
        elif self.state.resource_streamer.on:
            self._write(self._view("MI_RS_STORE_DATA_IMM", words).destination_address, words[3:4].tobytes())

    def _set_predicate(self, words: Words) -> None:
        """Skips the commands after it, to the next of these commands or the end of the batch buffer."""
        enable = int(self._view("MI_SET_PREDICATE", words).predicate_enable)
        name, value = _SKIPPED.get(enable, ("", 0))
        if not (self.registers.view(name).result == value if name else enable == PredicateEnableGen8.NOOP_ALWAYS):
            return
        if not self.position.in_batch:
            self.findings.add("MI_SET_PREDICATE outside of a batch is not executed", self._where())
            return
        address = self.position.address + 4
        while self._skipped < self.max_batch_dwords:
            header = self._read_dword(address)
            command = self.catalogue.command_for(header, self.engine)
            if command is not None and command.name in _NEVER_SKIPPED:
                self._reader.jump(address)
                return
            dwords = self.catalogue.length(header, self.engine)
            self._skipped += dwords
            address += 4 * dwords
        self._hang(f"the batch does not end after {self.max_batch_dwords} dwords")

    def _semaphore_wait(self, words: Words) -> None:
        """Wait for a value.  Nothing else runs on this device, so only a program can still write it."""
        if len(words) < 4:
            return
        values = self._view("MI_SEMAPHORE_WAIT", words).to_dict()
        holds = _SATISFIED.get(int(values["compare_operation"]))

        def operand() -> int:
            if values.get("register_poll_mode"):
                return self.registers.read(values["register_address"])
            return self._read_dword(values["semaphore_address"])

        while holds is None or not holds(operand(), values["semaphore_data_dword"]):
            if "semaphore_address" in values:
                self.waited_for.add(values["semaphore_address"])
            if holds is None or not self._waits_for_program():
                self._hang(f"MI_SEMAPHORE_WAIT for a value that nothing writes; the operand is 0x{operand():08x}")

    # --- memory ----------------------------------------------------------------------------------------------------
    def _atomic(self, words: Words) -> None:
        view = self._view("MI_ATOMIC", words)
        bits = 32 << view.data_size
        operation = _ATOMIC.get(int(view.atomic_opcode) & ATOMIC_OPERATION)
        if operation is None or bits > 128:
            self.findings.add("MI_ATOMIC with an unknown operation", self._where())
            return
        general = self.registers.offset("CS_GPR_R0")
        first = second = 0
        for i in range(bits // 32):
            inline = view.operands[i] if view.inline_data and i < len(view.operands) else None
            a = inline.operand1_data_dword if inline else self.registers.read(general + 4 * i)
            b = inline.operand2_data_dword if inline else self.registers.read(general + 16 + 4 * i)
            first, second = first | a << 32 * i, second | b << 32 * i
        address, size = view.memory_address, bits // 8
        old = int.from_bytes(self._read(address, size), "little")
        self._write(address, (operation(old, first, second, bits) & (1 << bits) - 1).to_bytes(size, "little"))
        if view.return_data_control:
            for i in range(bits // 32):
                self._write_register(general + 4 * i, old >> 32 * i & 0xFFFFFFFF)

    def _read_dword(self, address: int) -> int:
        return super()._read_dword(address & ADDRESS_MASK)

    def _read(self, address: int, size: int) -> bytes:
        return b"".join(self._read_dword(address + at).to_bytes(4, "little") for at in range(0, size, 4))

    def _write(self, address: int, data: bytes, physical: bool = False) -> None:
        """Addresses repeat bit 47 above it."""
        super()._write(address if physical else address & ADDRESS_MASK, data, physical)

    def _copy_memory(self, words: Words) -> None:
        view = self._view("MI_COPY_MEM_MEM", words)
        self._write(view.destination_memory_address, self._read(view.source_memory_address, 4))

    # --- depth -----------------------------------------------------------------------------------------------------
    def _depth_operation(self) -> Handler:
        """Clears and resolves of depth and stencil, which start at once, not with the PIPE_CONTROL that follows."""
        operations = 0
        for name in _DEPTH_OPERATIONS:
            operations |= self._mask("3DSTATE_WM_HZ_OP", name, 1)
        keep = self.state.keep("wm_hz_op")

        def operate(words: Words) -> None:
            keep(words)
            self.executor.depth_operation()
            self.state.own.wm_hz_op[1] = 0  # later 3DPRIMITIVEs draw normally

        return self.state.keep("wm_hz_op", leave_if(1, operations), fallback=operate)

    # --- synchronization -------------------------------------------------------------------------------------------
    def _pipe_control(self) -> Handler:
        command = self.catalogue.command("PIPE_CONTROL")
        post_sync, address = (command.field(name, self.gen) for name in ("post_sync_operation", "address"))
        operations = post_sync.mask_in(1)
        notify, to_register, no_pointers, resets_count, indexed = (self._mask("PIPE_CONTROL", name, 1) for name in (
            "notify_enable", "lri_post_sync_operation", "indirect_state_pointers_disable",
            "global_snapshot_count_reset", "store_data_index"))
        register = self._mask("PIPE_CONTROL", "register_offset", 2)
        rare = notify | to_register | no_pointers | resets_count | indexed
        immediate = command.pack(self.gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA)[1] & operations

        def synchronize(words: Words) -> None:
            """The core executes those that only write immediate data, or nothing."""
            flags = words[1]
            if flags & to_register:
                self._write_register(words[2] & register, words[4])
            elif flags & operations:
                target = int(address.decode(address.extract(words)))
                if flags & indexed:
                    target += self.registers.view("RENDER_HWS_PGA").status_page_address
                data = words[4:min(command.length(words[0]), 6)]  # the short form has one dword
                self._post_sync((flags & operations) >> post_sync.lo, target, data.tobytes())
            if flags & no_pointers:
                self.state.disable_constants()
            if flags & resets_count:
                self.executor.reset_counts()
            if flags & notify:
                self.interrupts.notify("flush_notify")

        self._short_handlers["PIPE_CONTROL"] = synchronize
        return self.state.stored.add(
            leave_if(1, rare | operations & ~immediate),
            write_immediate_48(address, 0xFFFFFFF8, 4, 1, immediate), fallback=synchronize)

    def _flush_dw(self) -> Handler:
        def flush(words: Words) -> None:
            view = self._view("MI_FLUSH_DW", words)
            self._post_sync(view.post_sync_operation, view.address, words[3:5].tobytes().ljust(8, b"\0"))
            if view.notify_enable:
                self.interrupts.notify("user_interrupt")

        return flush
