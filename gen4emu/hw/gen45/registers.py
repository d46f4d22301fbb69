"""MMIO registers of Gen4.5: the video ring, other errors and units, two more counters."""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import registers
from gen4emu.hw.gen4.registers import (
    REF_OTHER,
    REF_RING,
    counter,
    error_registers,
    instdone1,
    memory_controller,
    ring,
    value,
)
from gen4emu.hw.layout import Register

VIDEO_RING_REGISTERS = range(0x4000, 0x5000)

_REGISTERS = {register.name: register for register in registers.REGISTERS}
_STATUS_PAGE = Mbz(0, 7, 4)  # a page of the GTT, so the address has 32 bits

REPLACED: tuple[Register, ...] = (
    _REGISTERS["RENDER_HWS_PGA"].changed(_STATUS_PAGE, remove=["physical_address_high"]),
    instdone1(dict(enumerate((
        "vf", "vs", "gs", "clip", "sf", "urb", "windower", "pl", "so", "si", "dg", "ft", "dm", "sc", "fl", "qc",
        "masm", "svsm", "blt_busy", "mt_idle", "mawb", "dap", "rc", "mt", "isc", "svrr", "svrw", "svdr", "svdw",
        "masf", "cs", "bcs",
    )))),
    *(_REGISTERS[name].changed(Bool("video_user_interrupt", 0, 25))
      for name in ("HWSTAM", "IER", "IIR", "IMR", "ISR")),
    *error_registers({5: "page_table", 4: "memory_privilege", 3: "command_privilege", 0: "instruction"}),
    _REGISTERS["PGTBL_CTL"].changed(Ignored(0, 0, 0), remove=["enable"]),
    *memory_controller(mobile=Gen.CTG, desktop=Gen.EL),
)

ADDED: tuple[Register, ...] = (
    *ring("VIDEO", 0x4000, _STATUS_PAGE),
    Register("VIDEO_INSTDONE", 0x406C, value(), ref=REF_RING),
    Register("VIDEO_HWSTAM", 0x4098, value(), ref=REF_RING),
    Register("PGTBL_CTL2", 0x20C4, value(), ref=REF_OTHER),
    # The offsets of these on Gen4.5 are not public; these are Gen6's.
    counter("SO_PRIM_STORAGE_NEEDED", 0x2280),
    counter("SO_NUM_PRIMS_WRITTEN", 0x2288),
)
