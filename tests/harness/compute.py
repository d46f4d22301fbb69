"""A machine of Gen7 or Gen9 that dispatches thread groups: kernels as text, constants, one buffer at DATA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.media import SharedLocalMemorySize, SimdSize
from gen4emu.hw.gen7.messages import DataCacheTypeGen7
from gen4emu.hw.gen7.state import buffer_entry_fields
from gen4emu.hw.gen9.state import SharedLocalMemoryCode
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine
from tests.harness.messages import ARRIVE, BARRIER_ID, ONE_CHANNEL, data_port_control, data_port_gen7, descriptor

BATCH, KERNEL, DYNAMIC, SURFACES, INDIRECT = 0x20000, 0x30000, 0x40000, 0x50000, 0x60000
DATA, SCRATCH = 0x100000, 0x200000
_TABLE, _CONSTANTS = 0x400, 0x1000  # offsets
_DATA_BYTES = 0x10000
BUFFER, SHARED = 0, 254  # binding table indices
_SELECTION = 3  # the bits of Gen9's PIPELINE_SELECT that select the pipeline


def end(sources: int = 127) -> str:
    """The message that ends a thread: to the spawner, "do not dereference URB"."""
    message = descriptor("THREAD_SPAWNER_MESSAGE", Gen.IVB, end_of_thread=True, keep_urb_handle=True)
    return (f"mov(8) g{sources}<1>UD g0<8,8,1>UD {{ align1 WE_all 1Q }};\n"
            f"send(8) null<1>UW g{sources}<8,8,1>UW 0x{message:08x} thread_spawner {{ align1 WE_all 1Q EOT }};")


# The header has the barrier of the thread's group, as R0.2 has it.
BARRIER = (f"and(8) g126<1>UD g0.2<0,1,0>UD {BARRIER_ID} {{ align1 WE_all 1Q }};\n"
           f"send(8) null<1>UW g126<8,8,1>UD {ARRIVE} gateway {{ align1 WE_all 1Q }};\n"
           "wait(1) n0<1>UD { align1 WE_all 1N };")


class Compute:
    """IVB, BYT, HSW, SKL or KBL.  Messages have 8 channels, unless they say otherwise.

    On Gen9 everything that is not a command lies above 4 GiB.
    """

    def __init__(self, device: str = "ivb", **options: Any) -> None:
        self.device = Device(BY_NAME[device], Options(**{"workers": 1} | options))
        self.gen = self.device.info.gen
        self.memory = self.device.memory
        self.far = 0x7 << 32 if self.gen & Gen.GEN9 else 0
        self.memory.write(self.far + DATA, bytes(_DATA_BYTES))
        entries = {name: value for name, value in buffer_entry_fields(_DATA_BYTES).items() if value}
        self.memory.write(self.far + SURFACES, block_named("RENDER_SURFACE_STATE", self.gen).build(
            self.gen, surface_type="SURFTYPE_BUFFER", surface_format="RAW", surface_pitch=1,
            surface_base_address=self.far + DATA, **entries))
        self.memory.write(self.far + SURFACES + _TABLE, bytes(4))

    # --- kernels ------------------------------------------------------------------------------------------------------
    def _untyped(self, length: int, response: int, kind: str, index: int, **control: Any) -> str:
        fields: dict[str, Any] = {"length": length, "response": response, "message_type": kind}
        if self.gen & (Gen.HSW | Gen.GEN9):
            message = descriptor("DATA_CACHE_DATA_PORT_1_MESSAGE", self.gen, binding_table_index=index, **fields,
                                 **control)
            return f"0x{message:08x} dp data 1"
        # Ivy Bridge has this control in its only data port.
        number = DataCacheTypeGen7[kind]
        message = data_port_gen7(self.gen, length, response, number, data_port_control(self.gen, number, **control),
                                 index, header=False)
        return f"0x{message:08x} data"

    def store(self, offsets: int, index: int = BUFFER) -> str:
        """Write the dwords of the register after `offsets`, which has byte offsets."""
        message = self._untyped(2, 0, "UNTYPED_SURFACE_WRITE", index, simd_mode="SIMD8", channel_mask=ONE_CHANNEL)
        return f"send(8) null<1>UW g{offsets}<8,8,1>UD {message} {{ align1 1Q }};"

    def load(self, to: int, offsets: int, index: int = BUFFER) -> str:
        message = self._untyped(1, 1, "UNTYPED_SURFACE_READ", index, simd_mode="SIMD8", channel_mask=ONE_CHANNEL)
        return f"send(8) g{to}<1>UW g{offsets}<8,8,1>UD {message} {{ align1 1Q }};"

    def add(self, to: int, offsets: int, index: int = BUFFER) -> str:
        """Add the register after `offsets` atomically; the old values go to `to`."""
        message = self._untyped(2, 1, "UNTYPED_ATOMIC", index, atomic_operation="ADD", simd8=True,
                                return_data=True)
        return f"send(8) g{to}<1>UW g{offsets}<8,8,1>UD {message} {{ align1 1Q }};"

    # --- commands -----------------------------------------------------------------------------------------------------
    def command(self, name: str, **fields: Any) -> bytes:
        return command_named(name, self.gen).build(self.gen, **fields)

    def state(self, kernel: str, constants: Sequence[Sequence[int]] = (), scratch: dict[str, Any] | None = None,
              **descriptor: Any) -> bytes:
        """Write kernel, constants and interface descriptor; the commands up to the walker."""
        self.memory.write(self.far + KERNEL, assemble(kernel + "\n" + end(), self.gen))
        rows = np.zeros((max(len(constants), 1), 8), np.uint32)
        for row, values in zip(rows, constants, strict=False):
            row[:len(values)] = values
        self.memory.write(self.far + DYNAMIC + _CONSTANTS, rows.tobytes())
        self.memory.write(self.far + DYNAMIC, block_named("INTERFACE_DESCRIPTOR_DATA", self.gen).build(
            self.gen, **{"kernel_start_pointer": 0, "binding_table_pointer": _TABLE} | descriptor))
        bases = {"general_state": 0, "instruction": KERNEL, "dynamic_state": DYNAMIC, "surface_state": SURFACES}
        later = self.gen & Gen.GEN9
        sizes = {f"{n}_buffer_size{suffix}": value for n in ("general_state", "instruction", "dynamic_state")
                 for suffix, value in (("", 0x1000000), ("_modify_enable", True))} if later else {}
        selection = {"mask_bits": _SELECTION} if later else {}
        mode = {} if later else {"gpgpu_mode": True}
        return b"".join([
            self.command("PIPELINE_SELECT", pipeline_selection="GPGPU", **selection),
            self.command("STATE_BASE_ADDRESS", **{f"{n}_base_address": self.far + a for n, a in bases.items()},
                         **{f"{n}_base_address_modify_enable": True for n in bases}, **sizes),
            self.command("MEDIA_VFE_STATE", **{"maximum_number_of_threads": 64} | mode | (scratch or {})),
            self.command("MEDIA_CURBE_LOAD", curbe_data_start_address=_CONSTANTS, curbe_total_data_length=rows.nbytes),
            self.command("MEDIA_INTERFACE_DESCRIPTOR_LOAD", interface_descriptor_data_start_address=0,
                         interface_descriptor_total_length=32)])

    def shared(self, kib: int) -> dict[str, int]:
        """The field of the interface descriptor for this much shared local memory."""
        if self.gen & Gen.GEN9:
            return {"shared_local_memory_size": SharedLocalMemoryCode[f"KIB_{kib}" if kib else "NONE"]}
        return {"shared_local_memory_size": SharedLocalMemorySize[f"ENCODES_{kib}K"]}

    def walker(self, groups: Sequence[int] = (1, 1, 1), threads: int = 1, *, simd: SimdSize = SimdSize.SIMD8,
               starts: Sequence[int] = (0, 0, 0), mask: int = 0xFFFFFFFF, **fields: Any) -> bytes:
        ends = {f"thread_group_id_{axis}_dimension": n for axis, n in zip("xyz", groups, strict=True)}
        if fields.get("indirect_parameter_enable"):
            ends = {}
        starting = zip(("x", "y", "resume_z" if self.gen & Gen.GEN9 else "z"), starts, strict=True)
        return self.command("GPGPU_WALKER", **{
            "simd_size": simd, "thread_width_counter_maximum": threads - 1, "right_execution_mask": mask,
            "bottom_execution_mask": 0xFFFFFFFF,
            **{f"thread_group_id_starting_{axis}": n for axis, n in starting}} | ends | fields)

    def run(self, batch: bytes) -> None:
        self.memory.write(BATCH, batch + self.command("MI_BATCH_BUFFER_END"))
        self.device.run_batch(BATCH)

    def dispatch(self, kernel: str, groups: Sequence[int] = (1, 1, 1), threads: int = 1, *,
                 simd: SimdSize = SimdSize.SIMD8, starts: Sequence[int] = (0, 0, 0), mask: int = 0xFFFFFFFF,
                 walker: dict[str, Any] | None = None, **state: Any) -> None:
        """State and one walker."""
        descriptor = {"number_of_threads_in_gpgpu_thread_group": threads, "barrier_enable": True, **self.shared(4)}
        batch = self.state(kernel, **{**descriptor, **state})
        self.run(batch + self.walker(groups, threads, simd=simd, starts=starts, mask=mask, **walker or {}))

    # --- results ------------------------------------------------------------------------------------------------------
    def dwords(self, first: int, count: int, base: int = DATA) -> list[int]:
        return [int(x) for x in np.frombuffer(self.memory.read(self.far + base + 4 * first, 4 * count), np.uint32)]

    def register(self, name: str) -> int:
        return self.device.registers.read(self.device.registers.offset(name))

    def set_register(self, name: str, value: int) -> None:
        self.device.registers.write(self.device.registers.offset(name), value)

    @property
    def findings(self) -> list[str]:
        return list(self.device.streamers[Engine.RENDER].findings.count)
