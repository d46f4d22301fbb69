"""The extension module gen4emu._harness: the core's functions for tests and benchmarks (native/api/harness.h).

It is only built in place, and is not part of the product.  Handles of gen4emu._native fit its functions.
"""

from __future__ import annotations

from typing import Any

from gen4emu._harness import ffi, lib

from gen4emu._native import lib as core

__all__ = ["ffi", "harness"]


def harness() -> Any:
    """The functions, which have a copy of the core: it uses the vector variant that gen4emu._native uses now."""
    status = lib.g4_harness_use_variant(core.g4_variant_current())
    assert status == core.G4_OK
    return lib
