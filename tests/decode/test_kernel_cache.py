"""Kernels are read again when memory has changed, and only then scanned again if their bytes have."""

from __future__ import annotations

from typing import cast

import pytest

from gen4emu.decode import kernels
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.resources import ResourceOf
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.messages import WRITE_8

END = f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};\n"
SHORT, LONG = (assemble("nop;\n" * count + END, Gen.CTG) for count in (1, 3))


class _Bytes:
    """Memory with a kernel, whatever the address."""

    def __init__(self) -> None:
        self.data = b""

    def available(self, address: int, size: int) -> bytes:
        return self.data[:size]


def test_only_changed_bytes_are_scanned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = []
    length = kernels.kernel_length
    monkeypatch.setattr(kernels, "kernel_length", lambda data, gen: scans.append(len(data)) or length(data, gen))
    memory = _Bytes()
    known = Kernels(Gen.CTG, cast("ResourceOf", lambda *_: None))

    def read(data: bytes) -> tuple[int, bytes]:
        memory.data = data
        known.forget()
        found = known.at(cast("MemoryReader", memory), 0x1000)
        assert found is not None
        return found.number, found.code

    room = bytes(64)
    assert read(SHORT + room) == (1, SHORT)
    assert read(SHORT + room) == (1, SHORT) and len(scans) == 1
    assert read(SHORT + room[:40] + b"x" * 24) == (1, SHORT) and len(scans) == 1, "it ends before these bytes"
    assert read(LONG + room) == (2, LONG) and len(scans) == 2
    assert read(LONG + bytes(80)) == (2, LONG) and len(scans) == 3, "a jump may lead further"
    assert read(LONG[:-8] + LONG[-16:-8] + bytes(80))[0] == 3 and len(scans) == 4
    assert read(SHORT + room) == (1, SHORT) and len(scans) == 5


def test_a_kernel_may_be_longer_than_the_bytes_that_are_usually_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """iris compiles domain shaders of more than 256 KiB."""
    scans = []
    length = kernels.kernel_length
    monkeypatch.setattr(kernels, "kernel_length", lambda data, gen: scans.append(len(data)) or length(data, gen))
    memory = _Bytes()
    known = Kernels(Gen.CTG, cast("ResourceOf", lambda *_: None))
    code = SHORT[:16] * (kernels._WINDOW // 16) + SHORT
    memory.data = code + bytes(4096)
    for scanned in (2, 2, 2):
        known.new_submission(len(memory.data))
        known.forget()
        found = known.at(cast("MemoryReader", memory), 0x1000)
        assert found is not None and found.code == code and found.complete
        assert len(scans) == scanned
