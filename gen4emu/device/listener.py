"""Notifications from a device about what it executes."""

from __future__ import annotations

from gen4emu.device.counters import CountedDraw
from gen4emu.hw.command_reader import Words


class Listener:
    """Notified by a device.  Every method does nothing; a subclass overrides those that it needs.

    Listeners are called in the order in which the device got them.  One may raise an exception to end the run.
    """

    def draw_started(self, words: Words) -> None:
        """A 3DPRIMITIVE, header first, is about to run."""

    def draw_done(self) -> None:
        """A draw command has ended: a primitive, a blit, or media objects that ran together."""

    def draw_counted(self, draw: CountedDraw) -> None:
        """A draw command was counted, which happens at its end while `Device.counting` is on."""

    def media_done(self) -> None:
        """A media command was executed, or the wait for media threads is over."""

    def flip(self, address: int) -> None:
        """MI_DISPLAY_FLIP: the surface at `address` is to be shown."""
