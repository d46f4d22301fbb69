"""The store of pictures: names, order, threads, the index, errors of writing."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gen4emu.device.device import Device
from gen4emu.device.place import Place
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import DecodeError, FieldError
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.image import store as stores
from gen4emu.image.compare import load
from gen4emu.image.picture import read_pixels
from gen4emu.image.store import PictureStore, count_text

BASE = 0x100000
TARGET = Target("color", BASE, SurfaceFormat.B8G8R8X8_UNORM, 64, 32, 256, Tiling.LINEAR)


@pytest.fixture
def device() -> Device:
    device = Device(BY_NAME["g45"])
    device.memory.write(BASE, np.random.default_rng(1).bytes(256 * 64))
    return device


def place(number: int = 0) -> Place:
    return Place(number, number, number)


def index(directory: Path) -> list[dict[str, object]]:
    found = json.loads((directory / "index.json").read_text())["pictures"]
    assert isinstance(found, list)
    return found


def test_two_pictures_of_one_moment_have_two_names(tmp_path: Path, device: Device) -> None:
    store = PictureStore(tmp_path)
    for number in range(2):
        for height in (32, 16, 8):
            store.add(device.memory, replace(TARGET, height=height), "frame", number, place(number))
    store.close()
    names = [f"frame-0000{number}-color-00100000{again}.png" for number in range(2) for again in ("", "-2", "-3")]
    assert [p["file"] for p in index(tmp_path)] == names
    assert load(tmp_path / names[2]).shape == (8, 64, 3)


def test_a_picture_shows_memory_as_it_was_when_added(tmp_path: Path, device: Device) -> None:
    expected = []
    store = PictureStore(tmp_path)
    for number in range(40):
        device.memory.write(BASE, bytes([number]) * 4096)
        expected.append(read_pixels(device.memory, TARGET))
        store.add(device.memory, TARGET, "frame", number, place(number))
    store.close()
    for number, pixels in enumerate(expected):
        assert np.array_equal(load(tmp_path / f"frame-{number:05d}-color-00100000.png"), pixels)


def test_pictures_are_announced_in_order_when_they_are_complete(tmp_path: Path, device: Device,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[Path] = []
    second_done, save = threading.Event(), stores.save_stripped

    def slow_first(path: Path, pixels: stores.Pixels) -> str:
        if "00000" in path.name.split("-")[1]:
            assert second_done.wait(20)
        digest = save(path, pixels)
        if "00001" in path.name.split("-")[1]:
            second_done.set()
        return digest

    monkeypatch.setattr(stores, "save_stripped", slow_first)
    monkeypatch.setattr(stores.os, "cpu_count", lambda: 4)

    def announce(path: Path) -> None:
        assert path.exists()
        announced.append(path)

    store = PictureStore(tmp_path, announce=announce)
    for number in range(3):
        store.add(device.memory, TARGET, "frame", number, place(number))
    store.close()
    assert [p.name.split("-")[1] for p in announced] == ["00000", "00001", "00002"]


def test_pictures_that_wait_are_bounded(tmp_path: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_MAX_WAITING_BYTES", 3 * TARGET.width * TARGET.height * 4)
    go, started, save = threading.Event(), [], stores.save_stripped

    def wait(path: Path, pixels: stores.Pixels) -> str:
        started.append(path)
        assert go.wait(20)
        return save(path, pixels)

    monkeypatch.setattr(stores, "save_stripped", wait)
    store = PictureStore(tmp_path)
    added: list[int] = []

    def add() -> None:
        for number in range(8):
            store.add(device.memory, TARGET, "frame", number, place(number))
            added.append(number)

    thread = threading.Thread(target=add)
    thread.start()
    thread.join(0.5)
    assert len(added) == 3
    go.set()
    thread.join(20)
    store.close()
    assert len(index(tmp_path)) == 8


def test_unchanged_pictures_are_skipped_on_request(tmp_path: Path, device: Device) -> None:
    store = PictureStore(tmp_path)
    for number, byte in enumerate((1, 1, 2, 2, 1)):
        device.memory.write(BASE, bytes([byte]))
        store.add(device.memory, TARGET, "draw", number, place(number), only_changes=True)
    store.close()
    assert [p["draw"] for p in index(tmp_path)] == [0, 2, 4]


def test_npy_files_hold_the_exact_channels(tmp_path: Path, device: Device) -> None:
    target = replace(TARGET, format=SurfaceFormat.R32_FLOAT)
    device.memory.write(BASE, np.arange(64 * 32, dtype="<f4").tobytes())
    store = PictureStore(tmp_path, npy=True)
    store.add(device.memory, target, "frame", 0, place())
    store.close()
    assert np.array_equal(np.load(tmp_path / "frame-00000-color-00100000.npy")[:, :, 0],
                          np.arange(64 * 32, dtype=np.float32).reshape(32, 64))


def test_an_error_of_writing_is_raised_with_the_name_of_the_file(tmp_path: Path, device: Device) -> None:
    (tmp_path / "frame-00001-color-00100000.png").symlink_to("/dev/full")
    store = PictureStore(tmp_path)
    for number in range(2):
        store.add(device.memory, TARGET, "frame", number, place(number))
    with pytest.raises(OSError, match="No space left") as caught:
        store.close()
    assert caught.value.filename is not None
    assert [p["number"] for p in index(tmp_path)] == [0]  # what is complete


def test_there_is_a_bound_on_pictures(tmp_path: Path, device: Device) -> None:
    store = PictureStore(tmp_path, limit=2)
    for number in range(2):
        store.add(device.memory, TARGET, "frame", number, place(number))
    with pytest.raises(DecodeError, match="more than 2 pictures"):
        store.add(device.memory, TARGET, "frame", 2, place(2))
    store.close()
    assert len(index(tmp_path)) == 2


def test_an_impossible_surface_leaves_the_store_working(tmp_path: Path, device: Device) -> None:
    store = PictureStore(tmp_path)
    for number in range(40):  # more than there are buffers
        with pytest.raises(FieldError, match="pitch"):
            store.add(device.memory, replace(TARGET, pitch=16), "frame", number, place(number))
    store.add(device.memory, TARGET, "frame", 99, place())
    store.close()
    assert [p["number"] for p in index(tmp_path)] == [99]


def test_forget_removes_pictures(tmp_path: Path, device: Device) -> None:
    store = PictureStore(tmp_path)
    store.add(device.memory, TARGET, "frame", 0, place())
    store.forget()
    assert not list(tmp_path.iterdir())
    store.close()
    assert not list(tmp_path.iterdir())  # no index of nothing


def test_counts_of_files() -> None:
    assert count_text([]) == "0 pictures"
    assert count_text([{"file": "a.png"}]) == "1 picture"
    assert count_text([{"file": "a.png", "planes": "a.yuv"}, {"file": "b.png"}]) == "2 pictures (2 .png, 1 .yuv)"
