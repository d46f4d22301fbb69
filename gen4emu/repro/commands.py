"""The commands that set the state in force: a listener that keeps them, without those that were replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from gen4emu.device.command_streamer import REGISTER_LOADS, CommandStreamer
from gen4emu.device.registers import RegisterFile
from gen4emu.hw.catalogue import catalogue_of, command_named
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Command as Layout
from gen4emu.hw.layout import masked_write, written_bits
from gen4emu.repro.script import Dwords

_NO_STATE = frozenset({"PIPE_CONTROL", "STATE_PREFETCH", "MEDIA_STATE_FLUSH"})
# Commands that set a part of their state only: each different one is kept.
_PARTIAL = frozenset({"STATE_BASE_ADDRESS", "URB_FENCE", "3DSTATE_VERTEX_BUFFERS", "3DSTATE_CHROMA_KEY",
                      "3DSTATE_GS_SVB_INDEX", "3DSTATE_SO_BUFFER", "3DSTATE_SO_DECL_LIST", "3DSTATE_VF_INSTANCING",
                      "XY_SETUP_BLT", "XY_SETUP_CLIP_BLT", "XY_SETUP_MONO_PATTERN_SL_BLT"})
# Registers that MI_MATH, MI_PREDICATE and draws write, by the beginnings of their names.
_COMPUTED = ("CS_GPR_R", "MI_PREDICATE_", "SO_NUM_PRIMS_WRITTEN", "SO_PRIM_STORAGE_NEEDED", "SO_WRITE_OFFSET")
_MOST_WRITES = 60  # of an MI_LOAD_REGISTER_IMM

_Key = tuple[str, Dwords]
_Found = dict[_Key, Dwords]  # in the order of execution
# The commands that run, those of saved contexts, the context that runs, and the registers that were loaded.
Kept = tuple[tuple[Dwords, ...], dict[int, tuple[Dwords, ...]], int | None, tuple[int, ...]]


@dataclass(slots=True)
class StateCommands:
    """The state commands of one engine that a later one has not replaced."""

    streamer: CommandStreamer
    on_command: Callable[[Words, bool], None]  # called before each command; true: one that draws
    found: _Found = field(default_factory=dict)
    saved: dict[int, _Found] = field(default_factory=dict)  # of hardware contexts
    running: int | None = None  # the context that runs, if there is one
    _loaded: set[int] = field(default_factory=set)  # registers, from memory and from other registers

    # device.command_streamer.CommandListener
    def command(self, words: Words) -> None:
        layout = self.streamer.catalogue.command_for(words[0])
        self.on_command(words, layout is not None and layout.draws)
        if layout is None or layout.name in _NO_STATE or layout.draws:
            return
        if operand := REGISTER_LOADS.get(layout.name):
            self._loaded.add(getattr(layout.view(words, gen=self.streamer.gen), operand))
            return
        data = tuple(words.tolist())
        key = self._key(layout, data)
        self.found.pop(key, None)
        self.found[key] = data

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        if left is not None:
            self.saved[left] = dict(self.found)
        if restored:
            self.found = dict(self.saved.get(entered, {}))
        self.running = entered

    def reset(self) -> None:
        self.found.clear()
        if self.running is not None:
            self.saved.pop(self.running, None)
        self.running = None

    def kept(self) -> Kept:
        """The data for `load` by others, of a streamer in the same state."""
        return (tuple(self.found.values()), {number: tuple(found.values()) for number, found in self.saved.items()},
                self.running, tuple(sorted(self._loaded)))

    def restore(self, kept: Kept) -> None:
        """Take over what `save` of others has returned."""
        found, saved, self.running, loaded = kept
        self.found = self._by_key(found)
        self.saved = {number: self._by_key(commands) for number, commands in saved.items()}
        self._loaded = set(loaded)

    def _by_key(self, commands: Iterable[Dwords]) -> _Found:
        return {self._key(self.streamer.catalogue.command_for(data[0]), data): data for data in commands}

    def registers(self) -> tuple[Dwords, ...]:
        """MI_LOAD_REGISTER_IMM of what commands have computed or read from memory, and what draws have counted."""
        registers, gen = self.streamer.registers, self.streamer.gen
        initial = RegisterFile(gen)
        found = [(offset, registers.read(offset)) for offset in sorted({*_computed(gen), *self._loaded})]
        writes = [{"register_offset": offset, "data": masked_write(value) if registers.is_masked(offset) else value}
                  for offset, value in found if value != initial.read(offset)]
        load = command_named("MI_LOAD_REGISTER_IMM", gen)
        return tuple(tuple(load.pack(gen, writes=writes[at:at + _MOST_WRITES]))
                     for at in range(0, len(writes), _MOST_WRITES))

    def _key(self, layout: Layout | None, data: Dwords) -> _Key:
        assert layout is not None  # or it would not be kept
        return layout.name, self._distinguished(layout.name, data)

    def _distinguished(self, name: str, data: Dwords) -> Dwords:
        """The numbers that commands with the same name must share if the later one is to replace the other."""
        if name == "MI_LOAD_REGISTER_IMM":  # header, which disables bytes; offsets, and the bits that are changed
            masks = (written_bits(value) if self.streamer.registers.is_masked(offset) else 0
                     for offset, value in zip(data[1::2], data[2::2], strict=False))
            return (*data[:1], *data[1::2], *masks)
        return data if name in _PARTIAL else ()


def _computed(gen: Gen) -> Iterator[int]:
    for register in catalogue_of(gen).registers:
        if register.name.startswith(_COMPUTED):
            yield from range(register.offset, register.offset + 4 * register.size(gen), 4)
