"""The services of pointer following, for the model of a generation and for the modules that show plain data.

`gen4emu.decode.pointers.PointerFollower` implements it, with the help of exactly these modules.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from gen4emu.decode.context import Context, Use
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import Command, KernelCode, Node, State
from gen4emu.decode.options import Options
from gen4emu.hw.catalogue import Catalogue
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View


class Follower(Protocol):
    """Follows pointers; everything that it finds becomes children of a node."""

    peek: MemoryReader
    gen: Gen
    context: Context
    kernels: Kernels
    options: Options
    catalogue: Catalogue
    rows: int  # of data that may still be shown in this submission

    def pointers(self, node: Command) -> None:
        """Follow all pointers in the layout of a command."""

    def once(self, node: Command, key: Hashable, follow: Callable[[Any, Command], Any]) -> Any:
        """Return the result of `follow`; for equal keys, from the third time on, children are shared."""

    def registers(self, node: Command, loaded: Iterable[tuple[int, int]]) -> None:
        """Show the meaning of values that a command loads into registers: offset and value of each."""

    def below(self, parent: Node, view: View, role: str) -> None:
        """Follow a view's pointers, and those of its arrays' items."""

    def samplers(self, parent: Node, address: int, declared: int, use: Use | None, stage: str) -> None:
        """Show the samplers of a stage, as far as its kernel uses them."""

    def size_of(self, view: View, f: Address) -> int:
        """Return the bytes of plain data that a pointer leads to."""

    def plain(self, parent: Node, address: int, target: str, size: int, role: str) -> None:
        """Show plain data."""

    def is_unused(self, view: View, f: Address) -> bool:
        """Return whether another field says that a pointer means nothing."""

    def block(self, parent: Node, block: Block, address: int, role: str) -> State | None:
        """Show one block and all below it."""

    def table(self, parent: Node, address: int, declared: int, use: Use | None, stage: str) -> None:
        """Show a binding table and its surfaces."""

    def kernel_at(self, parent: Node, address: int, role: str) -> KernelCode | None:
        """Show a kernel."""

    def lost(self, node: Node, address: int, what: str, role: str) -> None:
        """Report a pointer to memory without contents."""

    def first_time(self, what: str, address: int, size: int) -> bool:
        """Return whether a range is new in this submission."""

    def complain(self, node: Node, rule: str, text: str, address: int | None = None, value: int | None = None) -> None:
        """Report a finding."""
