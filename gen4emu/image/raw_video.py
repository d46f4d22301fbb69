"""Frames as raw video, for ffmpeg: 3 bytes a pixel (rgb24), rows from the top, nothing between frames."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.errors import TraceError
from gen4emu.image.picture import Buffer, PixelReader, Pixels
from gen4emu.trace.output import Output

STDOUT = Path("-")


def frame_picture(targets: Sequence[Target]) -> Target | None:
    """The picture of a frame: the one that is shown, or else the largest color target."""
    return max((t for t in targets if t.kind not in ("depth", "stencil")), default=None,
               key=lambda t: (t.kind == "shown", t.width * t.height))


def to_rgb(pixels: Pixels) -> npt.NDArray[np.uint8]:
    """8 bits of red, green and blue, from pixels of any kind."""
    narrow = (pixels >> 8 if pixels.dtype == np.uint16 else pixels).astype(np.uint8, copy=False)
    return np.ascontiguousarray(np.stack([narrow] * 3, axis=2) if narrow.ndim == 2 else narrow[:, :, :3])


class RawVideo:
    """Writes one picture a frame, all of the size of the first; "-" is standard output.

    A file appears when it is closed, unless it could not be written.
    """

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """`say` reports the size, and at the end the number of frames that were left out."""
        self._say = say
        self._name = "standard output" if path == STDOUT else str(path)
        self._output = None if path == STDOUT else Output(path)
        self._size: tuple[int, int] | None = None
        self._buffer: Buffer | None = None
        self.frames = 0
        self.left_out = 0

    def add(self, memory: Memory, targets: Sequence[Target]) -> None:
        """Write `frame_picture` of the targets."""
        wanted = frame_picture(targets)
        if wanted is None:
            return
        size = wanted.width, wanted.height
        if self._size is None:
            self._size = size
            self._say(f"{self._name}: raw video, rgb24, {size[0]}x{size[1]} "
                      f"(ffmpeg -f rawvideo -pixel_format rgb24 -video_size {size[0]}x{size[1]} -i ...)")
        if size != self._size:
            if not self.left_out:
                self._say(f"{self._name}: a frame of {size[0]}x{size[1]} is left out: raw video has one size")
            self.left_out += 1
            return
        reader = PixelReader(memory, wanted)
        if self._buffer is None or self._buffer.nbytes < reader.max_bytes:
            self._buffer = np.empty(reader.max_bytes, np.uint8)
        pixels = reader.read(self._buffer)
        data = to_rgb(pixels).data
        if self._output is None:
            sys.stdout.buffer.write(data)
        else:
            try:
                self._output.write(data)
            except TraceError:
                self._output.discard()
                raise
        self.frames += 1

    def flush(self) -> None:
        """Hand on what was written to standard output: to a program that shows it now."""
        sys.stdout.buffer.flush()

    def close(self) -> None:
        if self._output is None:
            self.flush()
        else:
            self._output.commit()
        if self.left_out:
            self._say(f"{self._name}: {self.left_out} frames of another size were left out")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()  # also after a hang: with what was drawn before it
