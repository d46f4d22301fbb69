"""Error states of Gen7 to Gen9 as three kernels print them (i915_gpu_error.c): Linux 3.16, 4.19 and 6.1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.trace.trace_files import encoded


class Section(NamedTuple):
    """A buffer in the report; `kind` is the title of Linux 6.1."""

    kind: str  # batch, user, ring, HW Status, HW context
    address: int
    data: bytes


@dataclass
class Engine:
    """An engine's registers and buffers."""

    name: str = "rcs0"
    start: int = 0x12000
    head: int = 0  # of the request; the register is after it
    tail: int = 0x20
    ring_bytes: int = 0x4000
    acthd: int = 0
    hung: int = 1
    sections: list[Section] = field(default_factory=list)


_OLD_NAMES = {"rcs0": "render", "vcs0": "bsd", "bcs0": "blt", "vecs0": "vebox"}
_OLD_RINGS = {"rcs0": "render ring", "vcs0": "bsd ring", "bcs0": "blitter ring", "vecs0": "video enhancement ring"}
_OLD_KINDS = {"batch": "gtt_offset", "ring": "ringbuffer", "user": "user", "HW Status": "HW Status",
              "HW context": "HW Context"}


def linux_6_1(pci_id: int, platform: str, engines: list[Engine]) -> str:
    """64-bit addresses; the sections of each engine follow its registers."""
    return "\n".join([
        "GPU HANG: ecode 9:1:85dffffb, in glxgears [1234]",
        "Kernel: 6.1.0-13-amd64 x86_64",
        "Driver: 20201103",
        "Time: 1700000000 s 123456 us",
        "Capture: 4295000000 jiffies; 12 ms ago",
        "Active process (on ring rcs0): glxgears [1234]",
        "Reset count: 0",
        "Suspend count: 0",
        f"Platform: {platform}",
        "Subplatform: 0x0",
        f"PCI ID: 0x{pci_id:04x}",
        "PCI Revision: 0x04",
        "PCI Subsystem: 1028:0767",
        "IOMMU enabled?: 0",
        "DMC loaded: yes",
        "DMC fw version: 1.4",
        "RPM wakelock: yes",
        "PM suspended: no",
        "GT awake: yes",
        "CS timestamp frequency: 12000000 Hz, 84 ns",
        "EIR: 0x00000000",
        "PGTBL_ER: 0x00000000",
        "GTIER[0]: 0x01010101",
        "FORCEWAKE: 0x00010001",
        "ERROR: 0x00000000",
        "DONE_REG: 0x07ffffff",
        "FAULT_TLB_DATA: 0x00000011 0x00000022",
        "  fence[0] = 00000000",
        *(line for engine in engines for line in _engine_6_1(engine)),
        "slice total: 1, mask=0001",
        "subslice total: 3",
        "EU total: 23",
        "EU per subslice: 8",
        "has slice power gating: yes", ""])


def _engine_6_1(e: Engine) -> Iterator[str]:
    yield f"{e.name} command stream:"
    yield "  CCID:  0x00000000"
    yield from _ring_lines(e)
    yield "  SC_INSTDONE: 0xfffffffe"
    yield "  SAMPLER_INSTDONE[0][1]: 0xfffffffd"
    yield "  ROW_INSTDONE[0][2]: 0xfffffffc"
    yield from _late_lines(e)
    yield "  engine reset count: 0"
    yield "  ELSP[0]:  pid 1234, seqno       1d:00000002, prio 0, head 00000000, tail 00000020"
    yield "  Active context: glxgears[1234] prio 0, guilty 0 active 0, runtime total 0ns, avg 0ns"
    yield f"  hung: {e.hung}"
    for s in e.sections:
        yield f"{e.name} --- {s.kind} = {_pair(s.address)}"
        if s.kind == "user":
            yield "gtt_page_sizes = 0x00010000"
        yield encoded(s.data).rstrip()


def _ring_lines(e: Engine) -> Iterator[str]:
    yield f"  START: 0x{e.start:08x}"
    yield f"  HEAD:  0x{e.head + 12:08x} [0x{e.head:08x}]"
    yield f"  TAIL:  0x{e.tail:08x} [0x{e.head + 8:08x}, 0x{e.tail:08x}]"
    yield f"  CTL:   0x{e.ring_bytes - 4096 | 1:08x}"
    yield "  MODE:  0x00000000"
    yield "  HWS:   0xfffe6000"
    yield f"  ACTHD: {_pair(e.acthd)}"
    yield "  IPEIR: 0x00000000"
    yield "  IPEHR: 0x7a000004"
    yield "  INSTDONE: 0xffdffffb"


def _late_lines(e: Engine) -> Iterator[str]:
    for s in e.sections:
        if s.kind == "batch":
            yield f"  batch: [{_underscored(s.address)}, {_underscored(s.address + len(s.data))}]"
    yield f"  BBADDR: {_underscored(e.acthd | 1)}"
    yield "  BB_STATE: 0x00000020"
    yield "  INSTPS: 0x00008000"
    yield "  INSTPM: 0x00000000"
    yield f"  FADDR: {_pair(e.acthd + 0x200)}"
    yield "  RC PSMI: 0x00000010"
    yield "  FAULT_REG: 0x00000000"
    yield "  GFX_MODE: 0x00008000"
    yield "  PDP0: 0x000000022a3b4000"


def linux_4_19(pci_id: int, platform: str, engines: list[Engine]) -> str:
    """All registers come first, then tables of buffers, then all sections."""
    out = [
        "GPU HANG: ecode 9:0:0x85dffffb, in glxgears [1234], reason: hang on rcs0, action: reset",
        "Kernel: 4.19.0-5-amd64",
        "Driver: 20180719",
        "Time: 1542900000 s 123456 us",
        "Epoch: 4294000000 jiffies (250 HZ)",
        "Active process (on ring render): glxgears [1234], score 0",
        f"Platform: {platform}",
        f"PCI ID: 0x{pci_id:04x}",
        "EIR: 0x00000000",
        "CCID: 0x00000000",
        "Missed interrupts: 0x00000000",
    ]
    for e in engines:
        out += [f"{e.name} command stream:", "  IDLE?: no", *_ring_lines(e), *_late_lines(e), "  seqno: 0x00000002",
                f"  ring->head: 0x{e.head:08x}", f"  ring->tail: 0x{e.tail:08x}", "  hangcheck stall: yes",
                f"  hangcheck action: {'dead' if e.hung else 'idle'}"]
    for e in engines:
        out.append(f"Active ({e.name}) [{len(e.sections)}]:")
        out += [f"    {_underscored(s.address)} {len(s.data):8} 3e 00 uncached" for s in e.sections]
    for e in engines:
        for s in e.sections:
            who = f"{e.name} (submitted by glxgears [1234], ctx 1 [3], score 0)" if s.kind == "batch" else e.name
            kind = {"batch": "gtt_offset", "ring": "ringbuffer"}.get(s.kind, s.kind)
            out += [f"{who} --- {kind} = {_pair(s.address)}", encoded(s.data).rstrip()]
    return "\n".join([*out, "EU total: 23", ""])


def linux_3_16(pci_id: int, engines: list[Engine]) -> str:
    """32-bit addresses and dwords in hexadecimal, one a line."""
    out = ["GPU HANG: ecode 0:0x85dffffb, in glxgears [1234], reason: Ring hung, action: reset",
           "Time: 1402900000 s 123456 us", "Kernel: 3.16.0-4-amd64", "Active process (on ring render): glxgears [1234]",
           f"PCI ID: 0x{pci_id:04x}", "EIR: 0x00000000", "IER: 0x0000000a", "FORCEWAKE: 0x00000001",
           "  fence[0] = 00000000", "ERROR: 0x00000000", "ERR_INT: 0x00000000"]
    for e in engines:
        out += [f"{_OLD_NAMES[e.name]} command stream:", f"  START: 0x{e.start:08x}", f"  HEAD:  0x{e.head + 8:08x}",
                f"  TAIL:  0x{e.tail:08x}", f"  CTL:   0x{e.ring_bytes - 4096 | 1:08x}", f"  ACTHD: 0x{e.acthd:08x}",
                "  IPEHR: 0x7a000003", "  GFX_MODE: 0x00000200", "  PP_DIR_BASE: 0x01310000",
                f"  ring->head: 0x{e.head:08x}", f"  ring->tail: 0x{e.tail:08x}", "  hangcheck: hung [40]"]
    for e in engines:
        for s in e.sections:
            who = _OLD_RINGS[e.name] + (" (submitted by glxgears [1234])" if s.kind == "batch" else "")
            out.append(f"{who} --- {_OLD_KINDS[s.kind]} = 0x{s.address:08x}")
            words = memoryview(s.data).cast("I")
            if s.kind.startswith("HW"):
                out += [f"[{4 * i:04x}] " + " ".join(f"{w:08x}" for w in words[i:i + 4])
                        for i in range(0, len(words), 4)]
            else:
                out += [f"{4 * i:08x} :  {word:08x}" for i, word in enumerate(words)]
    return "\n".join([*out, ""])


def _pair(address: int) -> str:
    return f"0x{address >> 32:08x} {address & 0xFFFFFFFF:08x}"


def _underscored(address: int) -> str:
    return f"0x{address >> 32:08x}_{address & 0xFFFFFFFF:08x}"
