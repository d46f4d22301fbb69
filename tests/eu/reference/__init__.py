"""A second EU, in plain Python: one thread, one channel after the other, from spec/40 alone.

It shares nothing with the C core but the decoder of instruction words, so that where the two agree, both read the
digest the same way.  Messages are out of scope: a `send` does its implied move and nothing else.
"""

from tests.eu.reference.machine import run, step
from tests.eu.reference.thread import Thread, Unspecified

__all__ = ["Thread", "Unspecified", "run", "step"]
