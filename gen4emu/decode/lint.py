"""Rules that work when broken, or seem to (`--lint`): alignment, order, capacity, deviations of kernels.
"""

from __future__ import annotations

from gen4emu.decode.context import Context
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.nodes import BatchStart, Command
from gen4emu.hw.gen import Device


class Linter:
    def __init__(self, device: Device, context: Context, kernels: Kernels) -> None:
        self.device, self.context, self.kernels = device, context, kernels

    def command(self, node: Command) -> None:
        pass

    def batch(self, node: BatchStart) -> None:
        pass
