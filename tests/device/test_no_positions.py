"""Bit positions and command numbers are in gen4emu/hw only, not where commands are executed or shown."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gen4emu

ROOT = Path(gen4emu.__file__).parent
CONTAINERS = {"aub.py", "reader.py"}  # of trace/: packets of files, which look like commands
FILES = sorted(path for path in ROOT.rglob("*.py")
               if path.relative_to(ROOT).parts[0] not in ("hw", "isa") and path.name not in CONTAINERS)
COMMANDS = {"words", "word", "header", "command"}  # names of dwords of commands
DWORDS = COMMANDS - {"words", "command"} | {"descriptor"}


def typed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Shifts and masks by a number of dwords of commands, and comparisons of headers with numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift | ast.LShift | ast.BitAnd):
            if is_dword(node.left) and is_number(node.right):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Compare) and is_dword(node.left) and any(
                is_number(other) and ast.unparse(other) != "0" for other in node.comparators):
            yield node.lineno, ast.unparse(node)


def is_dword(node: ast.AST) -> bool:
    """`words[3]`, `header`, or an expression of one."""
    if isinstance(node, ast.BinOp):
        return is_dword(node.left) or is_dword(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Name) and node.value.id in COMMANDS
    if isinstance(node, ast.Attribute):
        return node.attr in DWORDS
    return isinstance(node, ast.Name) and node.id in DWORDS


def is_number(node: ast.AST) -> bool:
    """An integer, but for those that split 64 bits into dwords."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value not in (32, 0xFFFFFFFF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_command_bits_are_extracted_by_hand(path: Path) -> None:
    assert list(typed(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize("text", ["words[0] >> 14 & 3", "words[at] >> 27", "words[1] & ~31", "header >> 29 == 3",
                                  "header == 0x05000000", "(words[2] & 0xFFF) + 4",
                                  "message.descriptor >> 12 & 7"])
def test_the_check_finds_bits_extracted_by_hand(text: str) -> None:
    assert list(typed(ast.parse(text)))
