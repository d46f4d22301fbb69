"""No part of any generation has a number or a name twice."""

from __future__ import annotations

import pytest

from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Command, Register
from tests.hw.descriptions import duplicates


@pytest.mark.parametrize("part", Gen, ids=lambda part: part.name)
def test_nothing_is_there_twice(part: Gen) -> None:
    """If a later generation has another command with this number, its folder lists the inherited name in `remove`."""
    assert duplicates(part) == []


@pytest.mark.parametrize("part", [Gen.EL, Gen.HSW, Gen.BDW, Gen.KBL], ids=lambda part: part.name)
def test_a_duplicate_is_reported_with_its_number_and_both_names(part: Gen, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalogue.catalogue_of(part)
    header = table.command("PIPE_CONTROL").header
    offset = table.registers[0].offset
    monkeypatch.setattr(table, "commands", (*table.commands, Command("MADE_UP", header, 16, (7, 0), 2, ())))
    monkeypatch.setattr(table, "registers", (*table.registers, Register("MADE_UP_TOO", offset, ())))
    assert duplicates(part) == [f"header 0x{header:08x} of all engines: PIPE_CONTROL, MADE_UP",
                                f"register 0x{offset:x}: {table.registers[0].name}, MADE_UP_TOO"]
