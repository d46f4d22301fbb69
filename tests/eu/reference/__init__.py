"""A second EU in plain Python, written from the documentation: one thread, channel by channel.

It shares nothing with the C core but the decoder of instruction words, so the two check each other.  Messages are out
of scope: a `send` only does its implied move.
"""

from tests.eu.reference.machine import run, step
from tests.eu.reference.thread import Thread, Unspecified

__all__ = ["Thread", "Unspecified", "run", "step"]
