"""Makes every device of gen4emu check hierarchical depth, and note what it found in a file (tests/live/conftest.py).

Python imports this module at its start, because the folder is in PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import Any

LOG = "CHECKED_DEPTH_LOG"  # the variable with the path of the file


def check_depth(log: int) -> None:
    """From now on; a line for each device with such depth is appended to an open file, because a sandbox may forbid
    opening it."""
    from gen4emu.core_enums import HierarchicalDepthMode
    from gen4emu.device.device import Device
    from gen4emu.device.options import Options
    from gen4emu.hw.gen import Gen

    begin, end = Device.__init__, Device.release

    def __init__(self: Device, info: Any, options: Options | None = None, *args: Any, **kwargs: Any) -> None:
        options = options or Options()
        if not info.gen & (Gen.GEN4 | Gen.GEN45) and options.hierarchical_depth is HierarchicalDepthMode.OFF:
            options = replace(options, hierarchical_depth=HierarchicalDepthMode.ON)
        begin(self, info, options, *args, **kwargs)

    def release(self: Device) -> Any:
        counts = self.hierarchical_depth_counts()
        if any(counts.values()):
            os.write(log, (json.dumps({"device": self.info.name} | counts) + "\n").encode())
        return end(self)

    Device.__init__ = __init__  # type: ignore[method-assign]  # replaced in this process only
    Device.release = release  # type: ignore[method-assign]  # replaced in this process only


# Programs that choose a mode themselves keep it.
if LOG in os.environ and sys.orig_argv[1:3] == ["-m", "gen4emu"] and "--hiz" not in sys.orig_argv:
    check_depth(os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))
