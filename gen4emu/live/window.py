"""`run --window`: shows the frames of a screen in a window of SDL, through the optional package PySDL2."""

from __future__ import annotations

import ctypes
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gen4emu.errors import Gen4emuError
from gen4emu.image.picture import save_pixels
from gen4emu.image.raw_video import to_rgb
from gen4emu.live.screen import Frame, Screen

_IDLE_SECONDS = 0.01
_TITLE_SECONDS = 0.25


class WindowError(Gen4emuError):
    """There can be no window."""


def _sdl() -> Any:
    """PySDL2; an error if it, or SDL itself, is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pysdl2-dll: that it uses its own SDL
            import sdl2
    except ImportError as e:
        raise WindowError(f"--window needs SDL ({e}): pip install 'gen4emu[window]', or use --web") from None
    return sdl2


class WindowView:
    """A window, used by the main thread only.  It appears with the first frame, in the frame's size."""

    def __init__(self, screen: Screen, title: str, say: Callable[[str], None]) -> None:
        """`say` reports saved pictures, and that the window is closed."""
        self._screen, self._title, self._say = screen, title, say
        self._sdl = sdl = _sdl()
        self.idle: Callable[[], None] | None = self._idle
        sdl.SDL_SetHint(sdl.SDL_HINT_NO_SIGNAL_HANDLERS, b"1")  # Ctrl-C belongs to the program
        self._check(sdl.SDL_Init(sdl.SDL_INIT_VIDEO))
        self._window = self._made(sdl.SDL_CreateWindow(
            title.encode(), sdl.SDL_WINDOWPOS_CENTERED, sdl.SDL_WINDOWPOS_CENTERED, 1, 1,
            sdl.SDL_WINDOW_RESIZABLE | sdl.SDL_WINDOW_HIDDEN))
        # not a renderer of OpenGL, which would load this machine's driver beside the emulated one
        self._renderer = self._made(sdl.SDL_CreateRenderer(self._window, -1, sdl.SDL_RENDERER_SOFTWARE))
        self._texture: Any = None
        self._size = (0, 0)  # of the texture
        self._frame: Frame | None = None
        self._left_out = 0
        self._is_closed = self._has_ended = False
        self._titled = 0.0

    def _made(self, thing: Any) -> Any:
        """An object that SDL has made; an error if it is NULL."""
        if not thing:
            raise WindowError(f"--window: {self._sdl.SDL_GetError().decode('utf-8', 'replace')}")
        return thing

    def _check(self, status: int) -> None:
        self._made(status == 0)

    def start(self) -> None:
        """The window appears later."""

    def _idle(self) -> None:
        """Show the latest frame and handle events.  After an error, the program continues without the window."""
        if self._is_closed:
            time.sleep(_IDLE_SECONDS)
            return
        try:
            self._show_and_handle()
        except WindowError as e:
            self._say(str(e))
            self._leave()

    def _show_and_handle(self) -> None:
        frame = self._screen.take(0 if self._frame is None else self._frame.serial, _IDLE_SECONDS)
        if frame is not None:
            self._show(frame)
        event = self._sdl.SDL_Event()
        while not self._is_closed and self._sdl.SDL_PollEvent(ctypes.byref(event)):
            self._handle(event)

    def end(self, reason: str) -> None:
        self._screen.end()
        if self._has_ended:
            return
        self._has_ended = True
        if not self._is_closed:
            self._idle()
        self._close()
        self._sdl.SDL_Quit()

    # --- pictures ---------------------------------------------------------------------------------------------------
    def _show(self, frame: Frame) -> None:
        if self._frame is not None:
            self._left_out += frame.serial - self._frame.serial - 1
        self._frame = frame
        sdl = self._sdl
        height, width = frame.pixels.shape[:2]
        if self._size != (width, height):
            self._resize(width, height)
        rgb = to_rgb(frame.pixels)
        self._check(sdl.SDL_UpdateTexture(self._texture, None, rgb.ctypes.data_as(ctypes.c_void_p), 3 * width))
        self._present()
        if time.monotonic() - self._titled >= _TITLE_SECONDS or self._screen.paused:
            self._write_title()

    def _resize(self, width: int, height: int) -> None:
        sdl = self._sdl
        if self._texture is not None:
            sdl.SDL_DestroyTexture(self._texture)
        self._texture = self._made(sdl.SDL_CreateTexture(self._renderer, sdl.SDL_PIXELFORMAT_RGB24,
                                                         sdl.SDL_TEXTUREACCESS_STREAMING, width, height))
        self._check(sdl.SDL_RenderSetLogicalSize(self._renderer, width, height))  # keeps the shape of the picture
        sdl.SDL_SetWindowSize(self._window, width, height)
        sdl.SDL_ShowWindow(self._window)
        self._size = width, height

    def _present(self) -> None:
        sdl = self._sdl
        self._check(sdl.SDL_RenderClear(self._renderer))
        self._check(sdl.SDL_RenderCopy(self._renderer, self._texture, None, None))
        sdl.SDL_RenderPresent(self._renderer)

    def _write_title(self) -> None:
        frame = self._frame
        if frame is None:
            return
        self._titled = time.monotonic()
        parts = [self._title, f"frame {frame.place.frame}", f"{frame.rate:.1f} frames/s", f"{frame.draws} draws"]
        if self._left_out:
            parts.append(f"{self._left_out} not shown")
        if self._screen.paused:
            parts.append("paused")
        self._sdl.SDL_SetWindowTitle(self._window, " - ".join(parts).encode())

    # --- events -----------------------------------------------------------------------------------------------------
    def _handle(self, event: Any) -> None:
        sdl = self._sdl
        if event.type == sdl.SDL_QUIT:
            self._say("the window is closed; the program continues")
            self._leave()
        elif event.type == sdl.SDL_WINDOWEVENT and self._texture is not None:
            self._present()
        elif event.type == sdl.SDL_KEYDOWN and not event.key.repeat:
            self._press(event.key.keysym.sym)

    def _press(self, key: int) -> None:
        sdl, screen = self._sdl, self._screen
        if key == sdl.SDLK_SPACE:
            if screen.paused:
                screen.resume()
            else:
                screen.pause()
        elif key == sdl.SDLK_PERIOD:
            screen.step()
        elif key == sdl.SDLK_s and self._frame is not None:
            self._save(self._frame)
        self._write_title()

    def _save(self, frame: Frame) -> None:
        try:
            save_pixels(Path(frame.name), frame.pixels)
        except OSError as e:
            self._say(f"{frame.name}: {e.strerror or e}")
        else:
            self._say(f"{frame.name}: written")

    def read(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The pixels of the window: height, width, RGB."""
        width, height = ctypes.c_int(), ctypes.c_int()
        self._check(self._sdl.SDL_GetRendererOutputSize(self._renderer, width, height))
        found = np.zeros((height.value, width.value, 3), np.uint8)
        self._check(self._sdl.SDL_RenderReadPixels(self._renderer, None, self._sdl.SDL_PIXELFORMAT_RGB24,
                                                   found.ctypes.data_as(ctypes.c_void_p), 3 * width.value))
        return found

    def _leave(self) -> None:
        """Without a window, no key can end a pause."""
        self._close()
        self._screen.resume()

    def _close(self) -> None:
        sdl = self._sdl
        for thing, destroy in ((self._texture, sdl.SDL_DestroyTexture), (self._renderer, sdl.SDL_DestroyRenderer),
                               (self._window, sdl.SDL_DestroyWindow)):
            if thing is not None:
                destroy(thing)
        self._texture = self._renderer = self._window = None
        self._is_closed = True
