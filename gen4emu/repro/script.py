"""batch.txt: the commands and the memory of a submission, by the names of their fields.

    device = gm45
    batch = 0x00200000
    memory 0x00109000 = memory/00109000.bin
    kernel 0x00109040 0x180 = kernels/ps-00109040.g4a

    3DSTATE_DRAWING_RECTANGLE
      clipped_drawing_rectangle_x_max = 255

`text_of` and `parse` are inverses: commands whose dwords cannot be written with names are lines of `dwords`.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import command_for, command_named
from gen4emu.hw.chips import Device, device_named
from gen4emu.hw.fields import Address, Bool, Const, Enum, Field, Mbz, Uint, value_from_text
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.mi import AddressSpaceIndicator
from gen4emu.hw.layout import Command
from gen4emu.image.picture import replacing
from gen4emu.isa import assemble
from gen4emu.trace.conversion import container_of, new_writer
from gen4emu.trace.events import Engine
from gen4emu.trace.write_aub import Dedup

TITLE = "# gen4emu batch 1"
_MOST_BYTES = 1 << 30  # of memory in all
_MOST_ITEMS = 4096  # of an array
_MOST_TEXT = 64 << 20
_SETTING = re.compile(r"(?P<name>\w+) = (?P<value>.*)")
_MEMORY = re.compile(r"memory (?P<address>0x[0-9a-fA-F]+) = (?P<file>\S+)")
_KERNEL = re.compile(r"kernel (?P<address>0x[0-9a-fA-F]+) (?P<room>0x[0-9a-fA-F]+|\d+) = (?P<file>\S+)")
_FIELD = re.compile(r"(?:(?P<array>\w+)\[(?P<index>\d{1,9})\]\.)?(?P<name>\w+) = (?P<value>.+)")
_DWORDS = 8  # in a line

Dwords = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel of a script as assembly."""

    name: str  # of the file
    address: int
    code: bytes  # what the text gives
    text: str


@dataclass(slots=True)
class Script:
    """A submission: memory, and a batch of commands."""

    device: Device
    application: str = ""
    engine: Engine = Engine.RENDER
    ring: int = 0
    batch: int = 0
    memory: list[tuple[int, bytes]] = field(default_factory=list)
    commands: list[Dwords] = field(default_factory=list)

    @property
    def batch_bytes(self) -> bytes:
        """The batch as it lies in memory, with its end."""
        return batch_of(self.commands, self.device.gen)

    def build(self, path: str | os.PathLike[str]) -> None:
        """Write the trace.  It gets its name when it is complete."""
        with new_writer(container_of(path), path, self.device, self.application, Dedup.NONE) as writer:
            for at, data in self.memory:
                writer.write_memory(at, data)
            writer.write_memory(self.batch, self.batch_bytes, "batch")
            writer.submit(self.engine, start_of_batch(self.batch, self.device), self.ring)

    def save(self, directory: Path, kernels: Sequence[KernelText] = ()) -> None:
        """Write batch.txt and the files that it names.  `kernels`: those that lie in its memory as assembly, too."""
        names = []
        (directory / "memory").mkdir(parents=True, exist_ok=True)
        for address, data in self.memory:
            name = f"memory/{address:08x}.bin"
            with replacing(directory / name) as file:
                file.write(data)
            names.append((address, name))
        for kernel in kernels:
            (directory / kernel.name).parent.mkdir(exist_ok=True)
            with replacing(directory / kernel.name) as file:
                file.write(kernel.text.encode())
        with replacing(directory / "batch.txt") as file:
            file.write("".join(self._lines(names, kernels)).encode())

    def _lines(self, memory: Sequence[tuple[int, str]], kernels: Sequence[KernelText]) -> Iterator[str]:
        yield f"{TITLE}\ndevice = {self.device.name}\n"
        if self.application:
            yield f"application = {self.application}\n"
        yield f"engine = {self.engine.value}\nring = 0x{self.ring:08x}\nbatch = 0x{self.batch:08x}\n"
        for address, name in memory:
            yield f"memory 0x{address:08x} = {name}\n"
        for kernel in kernels:
            yield f"kernel 0x{kernel.address:08x} 0x{len(kernel.code):x} = {kernel.name}\n"
        yield "\n"
        for command in self.commands:
            yield from command_lines(command, self.device.gen)


def batch_of(commands: Sequence[Dwords], gen: Gen) -> bytes:
    """A batch of these commands, with its end."""
    end = command_named("MI_BATCH_BUFFER_END", gen).pack(gen)
    words = [word for command in (*commands, end) for word in command]
    words += [0] * (len(words) % 2)  # a batch has a whole number of qwords
    return struct.pack(f"<{len(words)}I", *words)


def start_of_batch(address: int, device: Device) -> bytes:
    """The contents of a ring that start a batch."""
    gen = device.gen
    layout = command_named("MI_BATCH_BUFFER_START", gen)
    (name,) = (f.name for f in layout.fields_for(gen) if isinstance(f, Address))
    values: dict[str, Any] = {name: address}
    if device.address_bits > 32:
        values["address_space_indicator"] = AddressSpaceIndicator.PPGTT
    words = layout.pack(gen, **values)
    words += [0] * (len(words) % 2)
    return struct.pack(f"<{len(words)}I", *words)


# --- writing ----------------------------------------------------------------------------------------------------------
def command_lines(words: Dwords, gen: Gen) -> Iterator[str]:
    """A command by name and field, or as dwords if that does not give the same dwords again."""
    layout = command_for(words[0], gen)
    if layout is not None:
        lines = [f"{layout.name}\n", *(f"  {name} = {text}\n" for name, text in _fields(layout, words, gen))]
        if _round_trips(lines, words, gen):
            yield from lines
            return
    name = "an unknown command" if layout is None else layout.name
    yield f"# {name}, which names alone do not describe\n"
    for at in range(0, len(words), _DWORDS):
        yield f"{'dwords' if not at else '      '} {' '.join(f'0x{word:08x}' for word in words[at:at + _DWORDS])}\n"


def _fields(layout: Command, words: Dwords, gen: Gen) -> Iterator[tuple[str, str]]:
    view = layout.view(words, gen=gen, dwords=len(words))
    for f, raw in view.fields():
        if _is_named(f):
            yield f.name, _text(f, raw)
    for array in layout.arrays_for(gen):
        for number, item in enumerate(view.array(array)):
            for f, raw in item.fields():
                if _is_named(f):
                    yield f"{array.name}[{number}].{f.name}", _text(f, raw)


def _is_named(f: Field) -> bool:
    return not isinstance(f, Const | Mbz) and f.name != "dword_length"


def _text(f: Field, raw: int) -> str:
    value = f.decode(raw)
    if isinstance(f, Enum):
        return str(getattr(value, "name", value))
    if isinstance(f, Bool):
        return "true" if value else "false"
    if isinstance(f, Address) or (isinstance(f, Uint) and f.hex):
        return f"0x{value:08x}"
    return repr(value)


def _round_trips(lines: Sequence[str], words: Dwords, gen: Gen) -> bool:
    try:
        reader = _Reader("", Path(), gen)
        for number, line in enumerate(lines):
            reader.line(number, line)
        return reader.finished() == [words]
    except FieldError:
        return False


# --- reading ----------------------------------------------------------------------------------------------------------
def parse(path: str | os.PathLike[str]) -> Script:
    """Read a batch.txt and the files that it names.  Errors name the file, the line and the field."""
    file = Path(path)
    if file.stat().st_size > _MOST_TEXT:
        raise FieldError(f"{file}: more than {_MOST_TEXT >> 20} MiB are not a batch")
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise FieldError(f"{file}: is not text") from None
    if not lines or lines[0].strip() != TITLE:
        raise FieldError(f"{file}:1: does not begin with {TITLE!r}")
    reader = _Reader(str(file), file.parent)
    for number, line in enumerate(lines[1:], 2):
        reader.line(number, line)
    commands = reader.finished()
    if reader.device is None:
        raise FieldError(f"{file}: names no device, such as: device = g45")
    if "batch" not in reader.numbers:
        raise FieldError(f"{file}: has no address of the batch, such as: batch = 0x00200000")
    script = Script(reader.device, reader.application, reader.engine, reader.numbers.get("ring", 0x1000),
                    reader.numbers["batch"], _overlaid(reader.memory, reader.kernels), commands)
    for number, size in ((script.ring, 8), (script.batch, len(script.batch_bytes))):
        if number % 8 or number + size > 1 << script.device.address_bits:
            raise FieldError(f"{file}: 0x{number:x} is not an address of {size} bytes that is a multiple of 8")
    return script


def _overlaid(memory: Sequence[tuple[int, bytes]], kernels: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Memory with kernels in it; those that lie elsewhere, even in part, are pieces of their own after the others."""
    found = [(at, bytearray(data)) for at, data in memory]
    for at, code in kernels:
        for start, data in reversed(found):
            if start <= at and at + len(code) <= start + len(data):
                data[at - start:at - start + len(code)] = code
                break
        else:
            found.append((at, bytearray(code)))
    return [(at, bytes(data)) for at, data in found]


class _Reader:
    """Reads the lines of a batch.txt."""

    def __init__(self, file: str, directory: Path, gen: Gen | None = None) -> None:
        self.device: Device | None = None
        self.application, self.engine = "", Engine.RENDER
        self.numbers: dict[str, int] = {}
        self.memory: list[tuple[int, bytes]] = []
        self.kernels: list[tuple[int, bytes]] = []
        self._file, self._directory, self._gen = file, directory, gen
        self._number = 0  # of the line
        self._bytes = 0
        self._commands: list[Dwords] = []
        self._layout: Command | None = None  # of the command whose fields follow
        self._started = 0  # its line
        self._values: dict[str, Any] = {}
        self._dwords: list[int] | None = None

    def line(self, number: int, text: str) -> None:
        self._number = number
        text = text.partition("#")[0].rstrip()
        if not text:
            return
        if text[0] in " \t":
            self._inside(text.strip())
            return
        self._end()
        memory, kernel = _MEMORY.fullmatch(text), _KERNEL.fullmatch(text)
        setting = _SETTING.fullmatch(text)
        if memory is not None:
            at = self._integer("memory", memory["address"])
            self.memory.append((at, self._inside_space(at, self._contents("memory", memory["file"]))))
        elif kernel is not None:
            self._assemble(kernel["address"], kernel["room"], kernel["file"])
        elif setting is not None:
            self._set(setting["name"], setting["value"].strip())
        elif text.startswith("dwords "):
            self._started, self._dwords = number, []
            self._inside(text[len("dwords "):])
        else:
            self._begin(text)

    def finished(self) -> list[Dwords]:
        self._end()
        return self._commands

    def _error(self, text: str, line: int | None = None) -> FieldError:
        return FieldError(f"{self._file}:{self._number if line is None else line}: {text}")

    # --- the head -----------------------------------------------------------------------------------------------------
    def _set(self, name: str, value: str) -> None:
        if name == "device":
            self.device = device_named(value)
            if self.device is None:
                raise self._error(f"device: unknown device {value!r}; `gen4emu devices` lists them")
            self._gen = self.device.gen
        elif name == "application":
            self.application = value
        elif name == "engine":
            known = [engine.value for engine in Engine]
            if value not in known:
                raise self._error(f"engine: unknown engine {value!r} (known: {', '.join(known)})")
            self.engine = Engine(value)
        elif name in ("ring", "batch"):
            self.numbers[name] = self._integer(name, value)
        else:
            raise self._error(f"unknown setting {name!r} (known: device, application, engine, ring, batch); "
                              f"fields of a command are indented")

    def _contents(self, what: str, name: str) -> bytes:
        """A file beside this one."""
        try:
            path = (self._directory / name).resolve()
        except (RuntimeError, ValueError) as e:  # before Python 3.13, a loop of symbolic links; a NUL
            raise self._error(f"{what}: {name!r}: {e}") from None
        if not path.is_relative_to(self._directory.resolve()):
            raise self._error(f"{what}: {name} is outside the directory of this file")
        try:
            self._bytes += path.stat().st_size
            if self._bytes > _MOST_BYTES:
                raise self._error(f"{what}: more than {_MOST_BYTES >> 20} MiB in all")
            return path.read_bytes()
        except OSError as e:
            raise self._error(f"{what}: {name}: {e.strerror}") from None

    def _inside_space(self, address: int, data: bytes) -> bytes:
        end = 1 << (32 if self.device is None else self.device.address_bits)
        if address + len(data) > end:
            raise self._error(f"{len(data)} bytes at 0x{address:x} do not fit the address space of {end >> 30} GiB")
        return data

    def _assemble(self, address: str, size: str, name: str) -> None:
        if self._gen is None:
            raise self._error("kernel: the device must be named before")
        at, room = self._integer("kernel", address), self._integer("kernel", size)
        if room > _MOST_TEXT:
            raise self._error(f"kernel: {room} bytes are more than the {_MOST_TEXT >> 20} MiB that a kernel may take")
        try:
            text = self._contents("kernel", name).decode()
        except UnicodeDecodeError:
            raise self._error(f"kernel: {name} is not text") from None
        code = assemble(text, self._gen, str(self._directory / name))
        if len(code) > room:
            raise self._error(f"kernel: {name} has {len(code)} bytes of code; {room} fit at 0x{at:08x}")
        self.kernels.append((at, self._inside_space(at, code.ljust(room, bytes(1)))))

    # --- commands -----------------------------------------------------------------------------------------------------
    def _begin(self, name: str) -> None:
        if self._gen is None:
            raise self._error(f"{name}: the device must be named before the first command")
        try:
            self._layout = command_named(name, self._gen)
        except KeyError:
            raise self._error(f"unknown command {name!r}") from None
        self._started, self._values = self._number, {}

    def _inside(self, text: str) -> None:
        if self._dwords is not None:
            self._dwords += [self._integer("dwords", word, 32) for word in text.split()]
            return
        if self._layout is None or self._gen is None:
            raise self._error("a field without a command before it")
        found = _FIELD.fullmatch(text)
        if found is None:
            raise self._error(f"{self._layout.name}: {text!r} is not a field and its value, such as: name = 1")
        values, fields = self._values, self._layout.by_name(self._gen)
        if found["array"] is not None:
            array = self._layout.array_by_name(self._gen).get(found["array"])
            if array is None:
                raise self._error(f"{self._layout.name}: no array is called {found['array']}")
            items = values.setdefault(array.name, [])
            index = int(found["index"])
            if index == len(items) and index < _MOST_ITEMS:
                items.append({})
            elif index != len(items) - 1:
                raise self._error(f"{self._layout.name}: {array.name}[{index}] does not follow {len(items)} items")
            values, fields = items[index], array.item.by_name(self._gen)
        name = found["name"]
        if name not in fields:
            raise self._error(f"{self._layout.name}: no field is called {name}")
        if name in values:
            raise self._error(f"{self._layout.name}: {name} has a value already")
        try:
            value = value_from_text(fields[name], found["value"].strip())
        except FieldError as e:
            raise self._error(str(e)) from None
        try:
            fields[name].encode(value)
        except FieldError as e:
            raise self._error(f"{self._layout.name}: {e}") from None
        values[name] = value

    def _integer(self, name: str, text: str, bits: int = 64) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            raise self._error(f"{name}: {text!r} is not a number") from None
        if not -(1 << 63) <= value < 1 << bits:
            raise self._error(f"{name}: {text} does not fit {bits} bits")
        return value

    def _end(self) -> None:
        """Complete the command whose fields were read."""
        if self._dwords is not None:
            if not self._dwords:
                raise self._error("dwords: none are given", self._started)
            self._commands.append(tuple(self._dwords))
        elif self._layout is not None and self._gen is not None:
            try:
                self._commands.append(tuple(self._layout.pack(self._gen, **self._values)))
            except FieldError as e:
                raise self._error(str(e), self._started) from None
        self._layout, self._dwords = None, None
