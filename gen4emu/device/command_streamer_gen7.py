"""The command streamer of Gen7 and Gen7.5: MI commands, PIPE_CONTROL and 3DPRIMITIVE where they differ from Gen4's.

Registers are operands: commands load, store, copy and compute with them, take the parameters of draws from them, and
MI_PREDICATE compares them to enable or disable draws.  All addresses are graphics addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gen4emu.device.command_streamer import CommandStreamer, Handler
from gen4emu.device.registers import InterruptNames
from gen4emu.device.state_gen7 import Gen7ContextState
from gen4emu.device.stored_commands import draw as core_draw
from gen4emu.device.stored_commands import leave_if, leave_if_zero, load_registers, place, write_immediate
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.gen7.mi import PredicateCombine, PredicateCompare, PredicateLoad
from gen4emu.hw.gen75.mi import AluOpcode, AluOperand
from gen4emu.hw.layout import Engine

_QWORD = 0xFFFFFFFFFFFFFFFF
_PERFORMANCE_REPORT_BYTES = 256

# Commands without an effect here: display, caches, synchronization between engines, filters and hints.
_IGNORED = (
    "MI_ARB_CHECK", "MI_ARB_ON_OFF", "MI_WAIT_FOR_EVENT", "MI_SUSPEND_FLUSH", "MI_LOAD_SCAN_LINES_INCL",
    "MI_LOAD_SCAN_LINES_EXCL", "MI_SEMAPHORE_MBOX", "MI_URB_CLEAR", "MI_UPDATE_GTT", "MI_CLFLUSH",
    "MI_TOPOLOGY_FILTER", "MI_SET_APPID", "MI_RS_CONTROL", "MI_RS_CONTEXT", "MI_URB_ATOMIC_ALLOC", "MEDIA_STATE_FLUSH",
)
_NOT_EXECUTED = (
    "MI_RS_STORE_DATA_IMM", "MI_LOAD_URB_MEM", "MI_STORE_URB_MEM", "GPGPU_OBJECT",
)
_PARAMETERS = ("VERTEX_COUNT", "START_VERTEX", "INSTANCE_COUNT", "START_INSTANCE", "BASE_VERTEX")  # dwords 2 to 6


class Gen7CommandStreamer(CommandStreamer):
    """Parses one ring of Gen7."""

    state: Gen7ContextState
    state_class = Gen7ContextState
    interrupt_names = InterruptNames(
        status="GTISR", mask="GTIMR", identity="GTIIR", error_identity="RENDER_EIR", error_mask="RENDER_EMR",
        error_status="RENDER_ESR", status_page_mask="RENDER_HWSTAM", prefix="render_", error="cs_error",
        page_fault=("RENDER_FAULT_REG", "valid"))
    idle_registers = ("RENDER_INSTDONE",)
    contexts_have_registers = True
    walker_dimensions = (4, 6, 8)  # the dwords of GPGPU_WALKER with the ends of x, y and z
    media_objects: tuple[str, ...] = ("MEDIA_OBJECT", "MEDIA_OBJECT_PRT", "MEDIA_OBJECT_WALKER")

    # --- handlers --------------------------------------------------------------------------------------------------
    def _own_handlers(self) -> dict[str, Handler]:
        self._returns: list[int] = []  # addresses after the commands that called second-level batches
        self._parameters_of: dict[str, Callable[[Sequence[int]], tuple[list[int], list[int]]]] = {}
        self._find_registers()
        found: dict[str, Handler] = dict.fromkeys(_IGNORED, self._nothing)
        found |= {name: self._not_executed(name) for name in _NOT_EXECUTED}
        found |= dict.fromkeys(self.media_objects, self._media)
        return {
            **self.state.handlers, **found,
            "MI_NOOP": self._noop(),
            "MI_USER_INTERRUPT": self._user_interrupt,
            "MI_SET_PREDICATE": self._set_predicate,
            "MI_FLUSH": self._flush(),
            "MI_REPORT_HEAD": self._report_head,
            "MI_BATCH_BUFFER_END": self._batch_buffer_end,
            "MI_PREDICATE": self._predicate(),
            "MI_DISPLAY_FLIP": self._display_flip,
            "MI_SET_CONTEXT": self._set_context,
            "MI_MATH": self._math,
            "MI_STORE_DATA_IMM": self._store_data_imm,
            "MI_STORE_DATA_INDEX": self._store_data_index,
            "MI_LOAD_REGISTER_IMM": self._load_register_imm,
            "MI_STORE_REGISTER_MEM": self._store_register_mem,
            "MI_FLUSH_DW": self._flush_dw(),
            "MI_REPORT_PERF_COUNT": self._report_perf_count,
            "MI_LOAD_REGISTER_MEM": self._load_register_mem(),
            "MI_LOAD_REGISTER_REG": self._load_register_reg,
            "MI_BATCH_BUFFER_START": self._batch_buffer_start(),
            "MI_CONDITIONAL_BATCH_BUFFER_END": self._conditional_batch_buffer_end,
            "3DPRIMITIVE": self._draw_handler(),
            "GPGPU_WALKER": self._walker(),
            "PIPE_CONTROL": self._pipe_control(),
            "PIPELINE_SELECT": self._pipeline_select,
        }

    def _find_registers(self) -> None:
        offset = self.registers.offset
        self._sources = tuple(offset(f"MI_PREDICATE_{name}") for name in ("SRC0", "SRC1", "DATA"))
        self._result = offset("MI_PREDICATE_RESULT")
        self._result_bit = self.registers.masks("MI_PREDICATE_RESULT")["result"]
        self._dimensions = tuple(offset(f"GPGPU_DISPATCHDIM{axis}") for axis in "XYZ")
        self._end_offset = offset("3DPRIM_END_OFFSET")
        self._parameters = tuple(offset(f"3DPRIM_{name}") for name in _PARAMETERS)
        assert max(self._parameters) - min(self._parameters) == 4 * (len(_PARAMETERS) - 1)  # as in `draw_parameter`

    def _is_predicate_set(self) -> bool:
        """Whether predicated commands are executed."""
        return bool(self.registers.read(self._result) & self._result_bit)

    def hook_registers(self) -> None:
        """Keep registers that draws and dispatches change in the state of the context."""
        gen7 = self.state.raw.gen7
        for i in range(len(gen7.so_write_offset)):
            self._hook(f"SO_WRITE_OFFSET{i}", gen7.so_write_offset, i, 32)
            self._hook(f"SO_NUM_PRIMS_WRITTEN{i}", gen7.so_num_prims_written, i, 64)
            self._hook(f"SO_PRIM_STORAGE_NEEDED{i}", gen7.so_prim_storage_needed, i, 64)
        for i, name in enumerate(sorted((f"3DPRIM_{name}" for name in _PARAMETERS), key=self.registers.offset)):
            self._hook(name, gen7.draw_parameter, i, 32)

    def _hook(self, name: str, values: Any, i: int, bits: int) -> None:
        def half(low: int) -> tuple[Callable[[], int], Callable[[int], None]]:
            mask = 0xFFFFFFFF << low

            def write(value: int) -> None:
                values[i] = int(values[i]) & ~mask & (1 << bits) - 1 | value << low

            return lambda: int(values[i]) >> low, write

        for low in range(0, bits, 32):
            read, write = half(low)
            offset = self.registers.offset(name) + low // 8
            self.registers.on_read(offset, read)
            self.registers.on_write(offset, write)

    def _privileged(self, name: str, handler: Handler) -> Handler:
        """All batches may use these commands (docs/decisions.md 169)."""
        return handler

    # --- draws -----------------------------------------------------------------------------------------------------
    def _draw_handler(self) -> Handler:
        """The core executes it unless it is predicated, has indirect parameters, or draws nothing."""
        predicated = self._mask("3DPRIMITIVE", "predicate_enable", 0)
        indirect = self._mask("3DPRIMITIVE", "indirect_parameter_enable", 0)
        to_the_end = self._mask("3DPRIMITIVE", "end_offset_enable", 1)
        run = self.executor.draw

        def parameters(words: Sequence[int]) -> tuple[list[int], list[int]]:
            registers, dwords = [self._result] * bool(words[0] & predicated), list(words)
            if words[0] & indirect:
                registers += self._parameters
                dwords = [words[0] & ~indirect, words[1], *map(self.registers.read, self._parameters)]
            if words[1] & to_the_end:
                registers.append(self._end_offset)
                dwords[1:3] = dwords[1] & ~to_the_end, self._vertices_to_the_end() or 0
            return registers, dwords

        def draw(words: Words) -> None:
            if words[0] & predicated and not self._is_predicate_set():
                return
            if words[1] & to_the_end and self._vertices_to_the_end() is None:
                self.findings.add("3DPRIMITIVE with End Offset Enable draws nothing: vertex buffer 0 has no structures",
                                  self._where())
            _, dwords = parameters(words)
            if dwords[2] and dwords[4]:  # vertices, instances
                run(_memoryview(dwords))

        self._parameters_of["3DPRIMITIVE"] = parameters
        return self.state.stored.add(leave_if(0, predicated | indirect), leave_if(1, to_the_end), leave_if_zero(2),
                                     leave_if_zero(4), core_draw(), fallback=draw)

    def parameters(self, words: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        command = self.catalogue.command_for(words[0])
        find = None if command is None else self._parameters_of.get(command.name)
        return super().parameters(words) if find is None else find(words)

    def _vertices_to_the_end(self) -> int | None:
        """The structures of vertex buffer 0 that lie below 3DPRIM_END_OFFSET as a whole; None if it has none."""
        buffer = block_named("VERTEX_BUFFER_STATE", self.gen).view(list(self.state.own.vertex_buffer[0]), gen=self.gen)
        if buffer.null_vertex_buffer or not buffer.buffer_pitch:
            return None
        return self.registers.read(self._end_offset) // int(buffer.buffer_pitch)

    # --- compute ---------------------------------------------------------------------------------------------------
    def _walker(self) -> Handler:
        predicated = self._mask("GPGPU_WALKER", "predicate_enable", 0)
        indirect = self._mask("GPGPU_WALKER", "indirect_parameter_enable", 0)
        run = self.executor.compute

        def parameters(words: Sequence[int]) -> tuple[list[int], list[int]]:
            registers, dwords = [self._result] * bool(words[0] & predicated), list(words)
            if words[0] & indirect:
                registers += self._dimensions
                dwords[0] &= ~indirect
                for dword, register in zip(self.walker_dimensions, self._dimensions, strict=True):
                    dwords[dword] = self.registers.read(register)
            return registers, dwords

        def walk(words: Words) -> None:
            if not words[0] & predicated or self._is_predicate_set():
                run(_memoryview(parameters(words)[1]) if words[0] & indirect else words)

        self._parameters_of["GPGPU_WALKER"] = parameters
        return walk

    # --- batches ---------------------------------------------------------------------------------------------------
    def _run_batch(self) -> None:
        self._returns.clear()
        super()._run_batch()

    def _saved_returns(self) -> tuple[int, ...]:
        return tuple(self._returns)

    def _load_returns(self, returns: tuple[int, ...]) -> None:
        self._returns[:] = returns

    def _batch_buffer_end(self, words: Words) -> None:
        if self._returns and self.position.in_batch:
            self._reader.jump(self._returns.pop())
        else:
            super()._batch_buffer_end(words)

    def _batch_buffer_start(self) -> Handler:
        address = self._mask("MI_BATCH_BUFFER_START", "batch_buffer_start_address", 1)
        fields = {field.name for field in self.catalogue.command("MI_BATCH_BUFFER_START").fields_for(self.gen)}
        predicated, second_level = (self._mask("MI_BATCH_BUFFER_START", name, 0) if name in fields else 0
                                    for name in ("predication_enable", "second_level_batch_buffer"))

        def start(words: Words) -> None:
            if len(words) < 2:
                self._hang("MI_BATCH_BUFFER_START without an address")
            if words[0] & predicated and not self._is_predicate_set():
                return
            if words[0] & second_level and self.position.in_batch:
                self._returns.append(self.position.address + 4 * len(words))
            self._reader.jump(words[1] & address)

        return start

    def _display_flip(self, words: Words) -> None:
        if len(words) >= 3:
            self.executor.flip(self._view("MI_DISPLAY_FLIP", words).display_buffer_base_address)

    def _conditional_batch_buffer_end(self, words: Words) -> None:
        """Ends the batch unless the dword in memory is greater than the one of the command."""
        if len(words) < 3:
            return
        view = self._view("MI_CONDITIONAL_BATCH_BUFFER_END", words)
        if self._read_dword(view.compare_address) <= view.compare_data_dword:
            self._batch_buffer_end(words)

    # --- memory and registers --------------------------------------------------------------------------------------
    def _store_data_imm(self, words: Words) -> None:
        if len(words) < 4:
            self.findings.add("MI_STORE_DATA_IMM without data", self._where())
            return
        self._write(self._view("MI_STORE_DATA_IMM", words).address, words[3:5].tobytes())

    def _store_data_index(self, words: Words) -> None:
        view = self._view("MI_STORE_DATA_INDEX", words)
        for i, value in enumerate(words[2:4]):
            self._write_status_page(view.offset + 4 * i, value)

    def _store_register_mem(self, words: Words) -> None:
        view = self._view("MI_STORE_REGISTER_MEM", words)
        if view.to_dict().get("predicate_enable") and not self._is_predicate_set():
            return
        self._write(view.memory_address, self.registers.read(view.register_address).to_bytes(4, "little"))

    def _load_register_mem(self) -> Handler:
        """The core loads draw parameters: drivers for Haswell use such a load to wait for the preceding write."""
        command = self.catalogue.command("MI_LOAD_REGISTER_MEM")
        register, address = (command.field(name, self.gen) for name in ("register_address", "memory_address"))

        def load(words: Words) -> None:
            view = self._view("MI_LOAD_REGISTER_MEM", words)
            self._write_register(view.register_address, self._read_dword(view.memory_address))

        if self.engine is not Engine.RENDER:
            return load
        return self.state.stored.add(load_registers(
            register, address, min(self._parameters), place("gen7", "draw_parameter"), len(self._parameters)),
            fallback=load)

    def _load_register_reg(self, words: Words) -> None:
        view = self._view("MI_LOAD_REGISTER_REG", words)
        self._write_register(view.destination_register_address, self.registers.read(view.source_register_address))

    def _report_perf_count(self, words: Words) -> None:
        """Writes a report whose counters are all 0: the identification, then a time stamp."""
        view = self._view("MI_REPORT_PERF_COUNT", words)
        report = _memoryview([view.report_id, self.timestamp() & 0xFFFFFFFF]).tobytes()
        self._write(view.memory_address, report.ljust(_PERFORMANCE_REPORT_BYTES, b"\0"))

    # --- predicates ------------------------------------------------------------------------------------------------
    def _qword(self, offset: int) -> int:
        return self.registers.read(offset) | self.registers.read(offset + 4) << 32

    def _set_qword(self, offset: int, value: int) -> None:
        self._write_register(offset, value & 0xFFFFFFFF)
        self._write_register(offset + 4, value >> 32 & 0xFFFFFFFF)

    def _compare(self, operation: int) -> bool:
        source0, source1, data = (self._qword(offset) for offset in self._sources)
        if operation == PredicateCompare.SRCS_EQUAL:
            return source0 == source1
        if operation == PredicateCompare.DELTAS_EQUAL:  # docs/decisions.md 88
            return source1 - source0 & _QWORD == data
        return operation == PredicateCompare.TRUE

    def _predicate(self) -> Handler:
        combine: dict[int, Callable[[bool, bool], bool]] = {
            PredicateCombine.SET: lambda compared, state: compared,
            PredicateCombine.AND: lambda compared, state: compared and state,
            PredicateCombine.OR: lambda compared, state: compared or state,
            PredicateCombine.XOR: lambda compared, state: compared != state,
        }

        def predicate(words: Words) -> None:
            view = self._view("MI_PREDICATE", words)
            state = self._is_predicate_set()
            value = combine[view.combine_operation](self._compare(view.compare_operation), state)
            if view.load_operation == PredicateLoad.KEEP:
                return
            source0, source1, data = self._sources
            self._set_qword(data, self._qword(source1) - self._qword(source0))
            self._write_register(self._result, value != (view.load_operation == PredicateLoad.LOADINV))

        return predicate

    def _set_predicate(self, words: Words) -> None:
        if self._view("MI_SET_PREDICATE", words).predicate_enable:
            self.findings.add("MI_SET_PREDICATE is not executed", self._where())

    # --- arithmetic ------------------------------------------------------------------------------------------------
    def _math(self, words: Words) -> None:
        """Runs the instructions in order.  Sources, accumulator and flags are gone when the command ends."""
        value = dict.fromkeys((AluOperand.SRCA, AluOperand.SRCB, AluOperand.ACCU, AluOperand.ZF, AluOperand.CF), 0)
        general = self.registers.offset("CS_GPR_R0")
        for instruction in self._view("MI_MATH", words).instructions:
            opcode, first, second = instruction.alu_opcode, instruction.operand_1, instruction.operand_2
            if opcode in (AluOpcode.LOAD, AluOpcode.LOADINV):
                loaded = self._qword(general + 8 * second) if second <= AluOperand.REG15 else value.get(second, 0)
                value[first] = loaded if opcode == AluOpcode.LOAD else ~loaded & _QWORD
            elif opcode in (AluOpcode.LOAD0, AluOpcode.LOAD1):
                value[first] = 0 if opcode == AluOpcode.LOAD0 else _QWORD
            elif opcode in (AluOpcode.STORE, AluOpcode.STOREINV):
                stored = value.get(second, 0)
                if first <= AluOperand.REG15:
                    self._set_qword(general + 8 * first, stored if opcode == AluOpcode.STORE else ~stored & _QWORD)
            elif opcode in _ALU:
                result = _ALU[opcode](value[AluOperand.SRCA], value[AluOperand.SRCB])
                value[AluOperand.ACCU] = result & _QWORD
                value[AluOperand.ZF] = 0 if result & _QWORD else _QWORD
                value[AluOperand.CF] = 0 if 0 <= result <= _QWORD else _QWORD
            elif opcode != AluOpcode.NOOP:
                self.findings.add("MI_MATH with an unknown operation", self._where())

    # --- synchronization -------------------------------------------------------------------------------------------
    def _post_sync(self, operation: int, address: int, data: bytes) -> None:
        """The write after everything before has ended, which is the case here.  It is aligned to 8 bytes."""
        address -= address % 8
        if operation == PostSyncOperation.WRITE_IMMEDIATE_DATA:
            self._write(address, data)
        elif operation == PostSyncOperation.WRITE_PS_DEPTH_COUNT:
            self._write(address, self.depth_count().to_bytes(8, "little"))
        elif operation == PostSyncOperation.WRITE_TIMESTAMP:
            self._write(address, self.timestamp().to_bytes(8, "little"))

    def _pipe_control(self) -> Handler:
        command = self.catalogue.command("PIPE_CONTROL")
        post_sync = command.field("post_sync_operation", self.gen)
        operations = post_sync.mask_in(1)
        notify, to_register, no_pointers, resets_count = (self._mask("PIPE_CONTROL", name, 1) for name in (
            "notify_enable", "lri_post_sync_operation", "indirect_state_pointers_disable",
            "global_snapshot_count_reset"))
        register, target = (self._mask("PIPE_CONTROL", name, 2) for name in ("register_offset", "address"))
        rare = notify | to_register | no_pointers | resets_count
        immediate = command.pack(self.gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA)[1] & operations

        def synchronize(words: Words) -> None:
            """The core executes those that only write immediate data, or nothing."""
            flags = words[1]
            if flags & to_register:
                self._write_register(words[2] & register, words[3])
            elif flags & operations:
                data = words[3:min(command.length(words[0]), 5)]  # the short form has one dword
                self._post_sync((flags & operations) >> post_sync.lo, words[2] & target, data.tobytes())
            if flags & no_pointers:
                self.state.disable_constants()
            if flags & resets_count:
                self.executor.reset_counts()
            if flags & notify:
                self.interrupts.notify("pipe_control_notify")

        self._short_handlers["PIPE_CONTROL"] = synchronize
        return self.state.stored.add(
            leave_if(1, rare | operations & ~immediate),
            write_immediate(command.field("address", self.gen), target & ~7, 3, 1, immediate), fallback=synchronize)

    def _flush_dw(self) -> Handler:
        def flush(words: Words) -> None:
            view = self._view("MI_FLUSH_DW", words)
            self._post_sync(view.post_sync_operation, view.address, words[2:4].tobytes())
            if view.notify_enable:
                self.interrupts.notify("user_interrupt")

        return flush


def _memoryview(dwords: list[int]) -> Words:
    return memoryview(b"".join(dword.to_bytes(4, "little") for dword in dwords)).cast("I")


# Results beyond 64 bits are carries and borrows.
_ALU: dict[int, Callable[[int, int], int]] = {
    AluOpcode.ADD: lambda a, b: a + b, AluOpcode.SUB: lambda a, b: a - b, AluOpcode.AND: lambda a, b: a & b,
    AluOpcode.OR: lambda a, b: a | b, AluOpcode.XOR: lambda a, b: a ^ b,
}
