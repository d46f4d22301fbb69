"""Small handmade trace files of every kind, for the tests and the fuzzer."""

from __future__ import annotations

import struct
import zlib

from gen4emu.trace import ascii85

GM45 = 0x2A42


def dwords(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


# --- AUB --------------------------------------------------------------------------------------------------------------
def header(pci_id: int | None = GM45, name: str = "glxgears") -> bytes:
    comment = b"" if pci_id is None else f"PCI-ID=0x{pci_id:x}".encode()
    body = dwords(4 << 24) + name.encode().ljust(32, b"\0") + dwords(0, 0, len(comment)) + padded(comment)
    return dwords(0xE0850000 | (len(body) // 4 - 1)) + body


def block(data: bytes, address: int, *, operation: int = 1, kind: int = 0, space: int = 0, subtype: int = 0,
          size: int | None = None) -> bytes:
    size = len(data) if size is None else size
    return dwords(0xE0C10003, space << 16 | kind << 8 | operation, subtype, address, size) + padded(data)


def ring_block(*words: int, address: int = 0x1000, kind: int = 2) -> bytes:
    return block(dwords(*words), address, operation=2, kind=kind)


def run(batch: int) -> bytes:
    return ring_block(0x18800000, batch)


def memtrace(sub_opcode: int, body: bytes) -> bytes:
    return dwords(0xF7000000 | sub_opcode << 16 | len(padded(body)) // 4) + padded(body)


def memory_write(address: int, data: bytes, space: int = 0) -> bytes:
    return memtrace(0x06, struct.pack("<QII", address, space << 28, len(data)) + data)


def register_write(register: int, value: int) -> bytes:
    return memtrace(0x03, dwords(register, 0x20000, 0xFFFFFFFF, 0, value))


def scattered_write(pieces: list[tuple[int, bytes]], space: int = 0) -> bytes:
    records = [(address, len(data)) for address, data in pieces] + [(0, 0)] * (63 - len(pieces))
    table = b"".join(struct.pack("<QI", address, size) for address, size in records)
    return memtrace(0x0B, dwords(space << 28) + table + b"".join(padded(data) for _, data in pieces))


def version(text: bytes) -> bytes:
    return memtrace(0x0E, dwords(1, 0, 0, 0) + text)


def bmp() -> bytes:
    """200 x 100 pixels from (16, 32) on, 8:8:8:8, pitch 1024, Y-tiled, at 0x200000."""
    return dwords(0xE09E0004, 32 << 16 | 16, 7 << 24 | 4 << 19 | 256, 100 << 16 | 200, 0x200000, 12)


BATCH = dwords(0x61040000, 0x02000000, 0x05000000, 0)


def aub() -> bytes:
    """A legacy file with one packet of each kind."""
    return (header() + memory_write(0, dwords(1, 0), space=4)
            + block(dwords(*range(0x200003, 0x210003, 0x1000)), 0, space=4)
            + block(BATCH, 0x10000, kind=1) + block(bytes(range(100)), 0x20000, kind=15, subtype=0x200)
            + block(b"hello", 0, operation=0) + run(0x10000) + bmp())


def execlist_aub() -> bytes:
    """A memtrace file whose one context runs a ring of two dwords (Gen8/9, shown as a GM45)."""
    image = [0] * 52
    image[5], image[7], image[9], image[11], image[49], image[51] = 0, 8, 0x40000, 0x1001, 0x1, 0x5000
    return (version(b"PCI-ID=0x2A42 glxgears") + memory_write(0x40 * 8, dwords(0x700001, 0, 0x701001, 0), space=4)
            + memory_write(0x40000, dwords(0x18800000, 0x10000)) + memory_write(0x31000, dwords(*image))
            + b"".join(register_write(0x2230, value) for value in (0, 0, 0, 0x30000)))


def wide_aub() -> bytes:
    """A memtrace file of Gen9: four levels of page tables, a batch at 0xfffefffee000, a context and its ring."""
    entries = ((0x1000, 511), (0x2000, 507), (0x3000, 511), (0x4000, 494))  # of the batch's page, one a level
    tables = b"".join(memory_write(table + 8 * index, dwords(table + 0x1003, 0), space=2) for table, index in entries)
    image = [0] * 52
    image[5], image[7], image[9], image[11], image[51] = 0, 16, 0x40000, 0x1, 0x1000
    return (version(b"PCI-ID=0x5912 gears") + memory_write(0x40 * 8, dwords(0x700001, 0), space=4) + tables
            + memory_write(0x5000, dwords(0x7A000004, 0, 0, 0, 0, 0, 0x05000000, 0), space=2)
            + memory_write(0x40000, dwords(0x18800101, 0xFFFEE000, 0xFFFE, 0)) + memory_write(0x31000, dwords(*image))
            + b"".join(register_write(0x2230, value) for value in (0, 0, 1, 0x30001)))


def pair_aub(*pairs: tuple[int, int]) -> bytes:
    """A memtrace file of Gen9 with contexts 1 to 3 in pairs, element 0 first; 0 leaves an element empty."""
    contents = b"".join(
        memory_write(0x40000 + 0x1000 * i, dwords(0x18800101, 0x1000 * i, 0, 0))
        + memory_write(0x31000 + 0x2000 * i, dwords(*_image(0x40000 + 0x1000 * i))) for i in (1, 2, 3))
    ports = [word for first, second in pairs for number in (second, first)
             for word in (0, 0x30001 + 0x2000 * number if number else 0)]
    return version(b"PCI-ID=0x5912 gears") + contents + b"".join(register_write(0x2230, word) for word in ports)


def _image(ring: int) -> list[int]:
    image = [0] * 52
    image[5], image[7], image[9], image[11], image[51] = 0, 16, ring, 0x1, 0x1000
    return image


def ring_registers_aub() -> bytes:
    """A memtrace file that moves the tail of a legacy ring."""
    return (version(b"PCI-ID=0x2A42") + memory_write(0x8000, dwords(0x02000000, 0, 0x18800000, 0x10000))
            + register_write(0x2038, 0x8000) + register_write(0x2034, 0) + register_write(0x203C, 0x1)
            + register_write(0x2030, 0x10))


# --- error states -----------------------------------------------------------------------------------------------------
RING = [0x02000000, 0, 0x18800180, 0x00100000, 0x02000000, 0x10800001, 0x200, 0x42, 0x01000000, 0, 0, 0]


def rows(values: list[int]) -> str:
    return "".join(f"{4 * i:08x} :  {value:08x}\n" for i, value in enumerate(values))


def encoded(data: bytes, *, compress: bool = True) -> str:
    text = ascii85.encode(zlib.compress(data) if compress else data).decode()
    return (":" if compress else "~") + text + "\n"


VARIANT_A = """Time: 1331234567 s 123456 us
PCI ID: 0x2a42
EIR: 0x00000000
PGTBL_ER: 0x00000000
Render command stream:
  ACTHD: 0x00100004
  IPEIR: 0x00000000
  IPEHR: 0x02000000
  INSTDONE: 0xffffffff
  INSTDONE1: 0xbf8fffff
  INSTPS: 0x00000000
  INSTPM: 0x00000000
  seqno: 0x00000042
  fence[0] = 0013f0000010003d
Active [2]:
  00100000    16384 0010 0000 00000042 dirty
  00200000     4096 0010 0000 00000042
render ring --- gtt_offset = 0x00100000
""" + rows([0x61040000, 0x02000000, 0x05000000]) + "render ring --- ringbuffer = 0x00001000\n" + rows(RING)

def explained(address: int, values: list[int], *, wide: bool = False) -> str:
    """Memory as intel_error_decode prints it; the reader uses only the first column and the value."""
    high = "0x00000000_" if wide else "0x"
    return "".join(f"{high}{address + 4 * i:08x}: {'HEAD' if i == 1 else '    '} 0x{value:08x}: MI_NOOP 00000000 :  0\n"
                   for i, value in enumerate(values))


# Common attachments of bug reports: variant A after intel_error_decode, of 2010 and of 2014.
EXPLAINED = VARIANT_A.partition("render ring ---")[0].replace("  INSTDONE1", "    busy: Media\n  INSTDONE1") + (
    "batchbuffer at 0x00100000:\n" + explained(0x100000, [0x61040000, 0x02000000, 0x05000000]) +
    "ringbuffer at 0x00001000:\n" + explained(0x1000, RING))
EXPLAINED_WIDE = VARIANT_A.partition("render ring ---")[0] + (
    "batchbuffer (render ring) at 0x00000000_00100000; HEAD points to: 0x00000000_00100004\n" +
    explained(0x100000, [0x61040000, 0x02000000, 0x05000000], wide=True) +
    "ringbuffer (render ring) at 0x00000000_00001000; HEAD points to: 0x00000000_00001010\n" +
    explained(0x1000, RING, wide=True))

VARIANT_B = """Time: 1331234567 s 123456 us
Kernel: 3.8.0
PCI ID: 0x2a42
EIR: 0x00000010
IER: 0x02028c53
PGTBL_ER: 0x00100000
FORCEWAKE: 0x00000000
DERRMR: 0x00000000
CCID: 0x00000000
  fence[0] = 00000000
render command stream:
  HEAD: 0x00200010
  TAIL: 0x00000028
  CTL: 0x00003001
  START: 0x00001000
  ACTHD: 0x00100004
  IPEIR: 0x00000000
  IPEHR: 0x02000000
  INSTDONE: 0xffffffff
  seqno: 0x00000042
  ring->head: 0x00000000
  ring->tail: 0x00000028
Active [1]:
  00100000    16384 0010 0000 00000042 dirty
Pinned [1]:
  00001000    16384 0001 0001 00000000 uncached
render ring --- gtt_offset = 0x00100000
""" + rows([0x61040000, 0x02000000, 0x05000000]) + """render ring --- 1 requests
  seqno 0x00000042, emitted 4294937296, tail 0x00000028
render ring --- ringbuffer = 0x00001000
""" + rows(RING) + "render ring --- HW Context = 0x00300000\n[0000] 00000000 0c000000 00300108 00000000\n"

VARIANT_C = """GPU HANG: ecode 4:0:0x02000000, in glxgears [1234], reason: Ring hung, action: reset
Time: 1431234567 s 123456 us
Kernel: 4.4.0
Active process (on ring render): glxgears [1234]
Reset count: 0
Suspend count: 0
PCI ID: 0x2a42
IOMMU enabled?: 0
EIR: 0x00000000
  fence[0] = 00000000
render command stream:
  START: 0x00001000
  HEAD:  0x00200010
  TAIL:  0x00000028
  CTL:   0x00003001
  HWS:   0x00002000
  ACTHD: 0x00000000 00100004
  IPEIR: 0x00000000
  IPEHR: 0x02000000
  INSTDONE: 0xffffffff
  BBADDR: 0x00000000_00100005
  BB_STATE: 0x00000000
  INSTPS: 0x00000000
  INSTPM: 0x00000000
  FADDR: 0x00000000 00100200
  seqno: 0x00000042
  ring->head: 0x00000000
  ring->tail: 0x00000028
  hangcheck: hung [40]
Active (render) [1]:
    0x00000000_00100000    16384 10 00 [ 42 00 00 00 00 ] 00 dirty
Pinned (global) [1]:
    0x00000000_00001000    16384 01 01 [ 00 00 00 00 00 ] 00 uncached
render ring (submitted by glxgears [1234]) --- gtt_offset = 0x00000000 00100000
""" + rows([0x61040000, 0x02000000, 0x05000000]) + """render ring (w/a) --- gtt_offset = 0x00000000 00500000
""" + rows([0x05000000]) + """render ring --- ringbuffer = 0x00000000 00001000
""" + rows(RING) + """render ring --- HW Status = 0x00000000 00002000
[0000] 00000000 00000000 00000000 00000000
[0010] 00000001 00000000 00000000 00000000
"""

VARIANT_D = """GPU HANG: ecode 4:0:0x02000000, in glxgears [1234], reason: Hang on rcs0, action: reset
Kernel: 4.14.0
Time: 1531234567 s 123456 us
Boottime: 100 s 1 us
Uptime: 99 s 1 us
Epoch: 4294892544 jiffies (1000 HZ)
Active process (on ring rcs0): glxgears [1234], score 0
Platform: GM45
PCI ID: 0x2a42
PCI Revision: 0x07
PCI Subsystem: 103c:30e0
EIR: 0x00000000
  fence[0] = 00000000
rcs0 command stream:
  START: 0x00001000
  HEAD:  0x00200010 [0x00000000]
  TAIL:  0x00000028 [0x00000020, 0x00000028]
  CTL:   0x00003001
  ACTHD: 0x00000000 00100004
  IPEHR: 0x02000000
  batch: [0x00000000_00100000, 0x00000000_00104000]
Active (rcs0) [1]:
    0x00000000_00100000    16384 10 00 dirty
rcs0 (submitted by glxgears [1234]) --- gtt_offset = 0x00000000 00100000
""" + encoded(dwords(0x61040000, 0x02000000, 0x05000000)) + """rcs0 --- ringbuffer = 0x00000000 00001000
""" + encoded(dwords(*RING)) + "rcs0 --- HW Status = 0x00000000 00002000\n" + encoded(bytes(64), compress=False)

VARIANT_E = """GPU HANG: ecode 4:1:02000000, in glxgears [1234]
Kernel: 6.1.0-13-amd64 x86_64
Driver: 20201103
Time: 1631234567 s 123456 us
Boottime: 100 s 1 us
Uptime: 99 s 1 us
Capture: 4294892544 jiffies; 12345 ms ago
Active process (on ring rcs0): glxgears [1234]
Reset count: 0
Suspend count: 0
Platform: GM45
Subplatform: 0x0
PCI ID: 0x2a42
PCI Revision: 0x07
PCI Subsystem: 103c:30e0
IOMMU enabled?: 0
RPM wakelock: yes
PM suspended: no
GT awake: yes
EIR: 0x00000000
IER: 0x02028c53
PGTBL_ER: 0x00000000
  fence[0] = 00000000
rcs0 command stream:
  CCID:  0x00000000
  START: 0x00001000
  HEAD:  0x00200010 [0x00000000]
  TAIL:  0x00000028 [0x00000020, 0x00000028]
  CTL:   0x00003001
  MODE:  0x00000000
  HWS:   0x00002000
  ACTHD: 0x00000000 00100004
  IPEIR: 0x00000000
  IPEHR: 0x02000000
  hung: 1
  engine reset count: 0
rcs0 --- batch = 0x00000000 00100000
gtt_page_sizes = 0x00001000
""" + encoded(dwords(0x61040000, 0x02000000, 0x05000000)) + """rcs0 --- user = 0x00000000 00600000
""" + encoded(bytes(range(256))) + """rcs0 --- ring = 0x00000000 00001000
""" + encoded(dwords(*RING)) + """vcs0 command stream:
  START: 0x00004000
  HEAD:  0x00000000 [0x00000000]
  TAIL:  0x00000000 [0x00000000, 0x00000000]
  CTL:   0x00003001
  hung: 0
vcs0 --- ring = 0x00000000 00004000
""" + encoded(bytes(64))

ERROR_STATES = {"A": VARIANT_A, "B": VARIANT_B, "C": VARIANT_C, "D": VARIANT_D, "E": VARIANT_E,
                "explained": EXPLAINED, "explained, wide": EXPLAINED_WIDE}

HEXDUMP = """0x12300000:      0x61040000: PIPELINE_SELECT
0x12300004: HEAD 0x02000000: MI_FLUSH
0x12300008:      0x05000000: MI_BATCH_BUFFER_END
"""


def everything() -> dict[str, bytes]:
    """One small valid file of each kind, by name."""
    files = {"aub": aub(), "execlist": execlist_aub(), "registers": ring_registers_aub(), "raw": BATCH,
             "scattered": version(b"PCI-ID=0x2a42") + scattered_write([(0x1000, b"abc"), (0x2000, b"defgh")]),
             "hexdump": HEXDUMP.encode(), "wide": wide_aub()}
    return files | {f"error {name}": text.encode() for name, text in ERROR_STATES.items()}
