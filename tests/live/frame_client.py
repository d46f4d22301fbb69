"""A client that shows frames, and what tests of windows, pages and files read of them."""

from __future__ import annotations

import select
import time
from pathlib import Path

import numpy as np

from gen4emu._native import lib
from gen4emu.image.compare import load
from gen4emu.live.screen import Frame, Screen
from gen4emu.live.server import Server
from tests.live.fake_client import FakeClient

BATCH, DATA = 0x100000, 0x200000
STORE, END = 0x10400002, 0x05000000


def show(client: FakeClient, number: int, fourcc: bytes = b"XR24", width: int = 128) -> None:
    """Draw one dword and show it."""
    client.words(0x10000, STORE, 0, DATA + 4 * number, 0x112233 + number, END, 0)
    client.objects((BATCH, 0, 4096, 0, 0), (DATA, int(lib.G4_LIVE_OBJECT_WRITTEN), 0x10000, 0, 0))
    client.run(BATCH)
    client.send("mark", lib.G4_LIVE_MARK, address=DATA, width=width, height=16, pitch=512, tiling=1,
                fourcc=int.from_bytes(fourcc, "little"))


def connected(server: Server) -> FakeClient:
    client = FakeClient(server.directory)
    client.bind(BATCH, 0x10000, 0x10000)
    client.bind(DATA, 0x10000, 0x20000)
    return client


def taken(screen: Screen, after: int = 0) -> Frame:
    found = screen.take(after, 30)
    assert found is not None
    return found


def is_held(client: FakeClient) -> bool:
    """Whether a submission that was started gets no answer."""
    return not select.select([client.socket], [], [], 0.3)[0]


def load_when_written(path: Path) -> np.ndarray:
    """A picture that another thread or process writes."""
    while not path.exists():
        time.sleep(0.01)
    return load(path)
