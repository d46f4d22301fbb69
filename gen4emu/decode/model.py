"""The shape of one generation's batches, as the decoder follows them: a table beside the layouts.

Layouts say where a pointer leads.  A model adds what no single layout knows: the stages and their kernels, pointers
whose extent depends on other commands, pointers that mean nothing, and the order of the state that a draw uses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from gen4emu.decode.context import Context, Use
from gen4emu.decode.follower import Follower
from gen4emu.decode.nodes import Command, Node
from gen4emu.decode.resources import ResourceOf
from gen4emu.hw.layout import View

Action = Callable[[Follower, Command], None]
Target = Callable[[Follower, Node, View, int, str, Use | None], None]  # parent, its fields, address, role, use


@dataclass(slots=True, frozen=True, eq=False)
class Model:
    """How the commands of one generation refer to each other and to memory."""

    bases: tuple[str, ...]  # those of STATE_BASE_ADDRESS
    stages: tuple[str, ...]  # that have binding tables, in the order of the pipeline
    actions: Mapping[str, Action]  # by command; the pointers of other commands are followed where they stand
    draw_key: Callable[[Context], Hashable]  # equal keys: `draw_state` finds the same
    draw_state: Action  # follows pointers that had to wait for the rest of the state
    descriptors: Callable[[Follower, View], list[tuple[int, int]]]
    # the number and the address of the interface descriptors that a media object can start
    descriptor: str  # the block of an interface descriptor
    surface: str  # and of a surface
    resource_of: ResourceOf  # the surface and the sampler that a message of a kernel names
    order: tuple[str, ...]  # commands as a reader follows a draw through the pipeline; others come after
    media_state: frozenset[str]  # the commands whose state media objects use
    units: Mapping[str, str] = field(default_factory=dict)  # the stage whose state a block is
    targets: Mapping[str, Target] = field(default_factory=dict)  # pointers that need more than address and count
    counts: Mapping[str, Callable[[Context], int]] = field(default_factory=dict)  # blocks whose number no field holds
    unused: Mapping[tuple[str, str], Callable[[View], bool]] = field(default_factory=dict)
    # pointers, by layout and field, that mean nothing unless another field says so
    deferred: frozenset[str] = frozenset()  # targets that a later command determines: their command has an action
    constant_row_bytes: int = 64  # of a count of CONSTANTS
    position: Mapping[str, int] = field(init=False)  # in `order`

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", {name: i for i, name in enumerate(self.order)})

    def new_context(self, address_bits: int = 32) -> Context:
        """The state before any command."""
        return Context(dict.fromkeys(("", *self.bases), 0), (1 << address_bits) - 1)
