"""Nodes of commands that a device has executed, with what they point to in its memory now.

Bases of pointers are those that are in force now, as draws use them, unless a command resolves its pointers or copies
memory when it is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from gen4emu._native import ffi
from gen4emu.decode import gen4
from gen4emu.decode.blits import YTiled
from gen4emu.decode.commands import Kind, actions_of
from gen4emu.decode.compiled import complaints_of
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.models import model_of
from gen4emu.decode.nodes import Body, Command, Data, Register
from gen4emu.decode.options import Options
from gen4emu.decode.pointers import PointerFollower, diagnose
from gen4emu.device.command_streamer import CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.executed_commands import ExecutedCommand
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen

_UNITS = {"vs": "VS_STATE", "gs": "GS_STATE", "clip": "CLIP_STATE", "sf": "SF_STATE", "ps": "WM_STATE",
          "cc": "COLOR_CALC_STATE"}
_RAW_UNITS = {"ps": "wm_state", "cc": "cc_state"}  # the core's names of their pointers; others are named like the stage
_COMMANDS_KEPT = 16384


class Parsed:
    """Commands, blocks and kernels of earlier draws, which later ones need not parse again."""

    def __init__(self, device: Device) -> None:
        self.gen = device.info.gen
        self.model = model_of(self.gen)
        self.context = self.model.new_context(device.info.address_bits)
        self.kernels = Kernels(self.gen, self.model.resource_of)
        self.blocks: dict[tuple[str, bytes], Body] = {}
        self._commands: dict[tuple[int, ...], Body] = {}

    def command(self, words: tuple[int, ...]) -> Body:
        """The body of a command."""
        body = self._commands.get(words)
        if body is None:
            layout = catalogue.command_for(words[0], self.gen)
            assert layout is not None  # or it would not have been executed
            if len(self._commands) >= _COMMANDS_KEPT:
                self._commands.clear()
            body = Body(layout.name, layout, words, self.gen, complaints_of(layout, self.gen)(words))
            self._commands[words] = body
        return body


class Nodes:
    """The nodes of one draw and of the state that is in force there."""

    def __init__(self, device: Device, streamer: CommandStreamer, options: Options, parsed: Parsed) -> None:
        self.gen, self.streamer, self.raw = device.info.gen, streamer, streamer.state.raw
        self.rows = options.max_rows
        self.model, self.parsed = parsed.model, parsed
        self.context = parsed.context.renewed()
        self.context.absolute_constants = streamer.state.constants_absolute
        if device.registers.has("BCS_SWCTRL"):
            control = device.registers.view("BCS_SWCTRL")
            self.context.y_tiled = YTiled(control.source_is_y_tiled, control.destination_is_y_tiled)
        self.peek = MemoryReader(device.memory)
        parsed.kernels.forget()
        self.follower = PointerFollower(self.peek, self.gen, self.model, self.context, parsed.kernels, options,
                                        parsed.blocks)
        self.follower.new_submission()
        self._actions = actions_of(self.follower)

    def command(self, address: int, words: tuple[int, ...]) -> Command:
        """The node of a command, with nothing below it yet."""
        body = self.parsed.command(words)
        node = Command(address, body)
        node.diagnostics += diagnose(body, address)
        return node

    def follow(self, node: Command, executed: ExecutedCommand) -> None:
        """Add the data below a state command.  Commands come in the order of the pipeline."""
        now = {name: self.context.bases[name] for name in executed.bases}
        self._rebase(executed.bases)
        if copied := self.streamer.state.copied(executed.name):
            view = node.body.view
            start = next(f for f, _ in view.fields() if isinstance(f, Address))
            self.peek.overlay(self.context.absolute(start.base, int(getattr(view, start.name))), copied)
        self._act(node)
        if copied:
            self.peek.forget()
        self._rebase(now)
        if executed.name == "3DSTATE_VERTEX_BUFFERS":
            self._keep_addresses()
        for name in self.streamer.state.registers_of(executed.name, node.body.view):
            node.children.append(self._register(self.streamer.registers.offset(name)))

    def follow_draw(self, node: Command) -> Command:
        """Add the registers that a draw reads, its vertices, indices or operands, and what had to wait for them.

        Returns the draw with the values of these registers.
        """
        registers, parameters = self.streamer.parameters(node.body.words)
        drawn = Command(node.address, self.parsed.command(tuple(parameters)))
        self.context.state_changed = self.context.vertices_changed = True
        self._act(drawn)
        node.children = [*(self._register(offset) for offset in registers), *drawn.children]
        node.diagnostics += drawn.diagnostics
        return drawn

    def _rebase(self, bases: Mapping[str, int]) -> None:
        for name, address in bases.items():
            self.context.rebase(name, address)

    def _act(self, node: Command) -> None:
        layout = catalogue.command_for(node.body.words[0], self.gen)
        assert layout is not None  # or it would not have been executed
        action = Kind(layout, self.gen, self._actions).action
        if action is not None:
            action(node)

    def _keep_addresses(self) -> None:
        """Vertex buffers without Address Modify Enable have the addresses of earlier commands."""
        for number in self.context.vertex_buffers:
            words = self.streamer.state.vertex_buffer(number)
            if words is not None:
                block = catalogue.block_named("VERTEX_BUFFER_STATE", self.gen)
                self.context.vertex_buffers[number] = block.view(words, gen=self.gen)

    def _register(self, offset: int) -> Register:
        register = catalogue.register_at(offset, self.gen)
        assert register is not None  # of the device
        words = tuple(self.streamer.registers.read(offset + 4 * i) for i in range(register.size(self.gen)))
        return Register(offset, "", Body(register.name, register, words, self.gen))


class Gen4Nodes(Nodes):
    """Gen4 and Gen4.5 resolve the pointers of commands when they execute them; blocks point from the bases of now."""

    def __init__(self, device: Device, streamer: CommandStreamer, options: Options, parsed: Parsed) -> None:
        super().__init__(device, streamer, options, parsed)
        self._rebase(streamer.state.bases())

    def follow(self, node: Command, executed: ExecutedCommand) -> None:
        name = node.body.name
        if name == "3DSTATE_PIPELINED_POINTERS":
            self._units(node)
        elif name == "3DSTATE_BINDING_TABLE_POINTERS":
            self._tables(node)
        elif name == "CONSTANT_BUFFER":
            self._constants(node)
        elif name != "STATE_BASE_ADDRESS":
            super().follow(node, executed)

    def _act(self, node: Command) -> None:
        self.context.state_changed = False  # binding tables are below their own command
        super()._act(node)

    def _units(self, node: Command) -> None:
        """VS, GS, CLIP, SF, WM and CC units with all below them; GS and CLIP only if they are enabled."""
        for stage, block in _UNITS.items():
            if int(getattr(self.raw, f"{stage}_enable", 1)):
                address = int(getattr(self.raw, _RAW_UNITS.get(stage, f"{stage}_state")))
                self.follower.block(node, catalogue.block_named(block, self.gen), address, "")

    def _tables(self, node: Command) -> None:
        """The binding tables of the stages whose kernels use surfaces."""
        for i, stage in enumerate(gen4.STAGES):
            unit = self.context.units.get(stage)
            if unit is not None and unit.use is not None:
                declared = int(unit.body.view.binding_table_entry_count)
                self.follower.table(node, int(self.raw.binding_table[i]), declared, unit.use, stage)

    def _constants(self, node: Command) -> None:
        """The constants that were copied when the command was executed: memory may hold others by now."""
        size = 32 * int(self.raw.curbe_rows)
        if not size:
            return
        view = node.body.view
        base = 0 if self.streamer.state.constants_absolute else self.context.bases["general_state"]
        found = Data(base + int(view.buffer_starting_address) & 0xFFFFFFFF, "copied by the command", "CONSTANTS", size)
        data = bytes(ffi.buffer(self.raw.curbe, size))
        limit = len(data) if self.rows < 0 else 16 * self.rows
        for values in struct.iter_unpack("<4f", data[:limit]):
            found.rows.append(" ".join(f"{v:.6g}" for v in values))
            found.values.append(list(values))
        found.more = size // 16 - len(found.rows)
        node.children.append(found)


def nodes_of(device: Device, streamer: CommandStreamer, options: Options, parsed: Parsed) -> Nodes:
    """The nodes for the generation of a device."""
    return (Gen4Nodes if device.info.gen & Gen.ALL4 else Nodes)(device, streamer, options, parsed)
