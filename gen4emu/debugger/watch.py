"""Expressions that are shown at every stop, and values by channel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gen4emu.debugger.expressions import Context, Expression, Number, json_values, value_text
from gen4emu.errors import Gen4emuError

_ROW = 4  # channels of a 2x2 block


@dataclass(slots=True)
class Watch:
    """An expression with its values at the last two stops."""

    expression: Expression
    values: list[Number] | None = None
    before: list[Number] | None = None
    error: str = ""

    def look(self, context: Context) -> None:
        """Evaluate it at a stop."""
        self.before, self.values, self.error = self.values, None, ""
        try:
            self.values = self.expression.values(context)
        except Gen4emuError as e:
            self.error = str(e)

    def as_json(self) -> dict[str, Any]:
        return {"expression": self.expression.text, "values": json_values(self.values),
                "before": json_values(self.before), "error": self.error or None}

    @property
    def line(self) -> str:
        if self.values is None:
            return f"{self.expression.text}: {self.error or 'no value yet'}"
        text = f"{self.expression.text} = {_texts(self.values)}"
        changed = self.before is not None and _texts(self.before) != _texts(self.values)
        return f"{text} (was {_texts(self.before or [])})" if changed else text


@dataclass(frozen=True, slots=True)
class Awaited:
    """An expression whose next value is awaited."""

    expression: Expression
    values: list[Number]
    ends: frozenset[int]  # addresses of the instructions that end the thread

    def is_over(self, address: int, context: Context) -> bool:
        """Whether there is another value or none, or the next instruction ends the thread."""
        if address in self.ends:
            return True
        try:
            return _texts(self.expression.values(context)) != _texts(self.values)
        except Gen4emuError:
            return True


def _texts(values: list[Number]) -> str:
    return " ".join(value_text(value) for value in values)


def lane_lines(values: list[Number], enabled: int, pixels: list[tuple[int, int] | None]) -> Iterator[str]:
    """Channels in fours; those of a pixel shader are a 2x2 block.  Disabled channels are in parentheses."""
    texts = [value_text(value) if enabled >> lane & 1 else f"({value_text(value)})"
             for lane, value in enumerate(values)]
    width = max(len(text) for text in texts)
    for first in range(0, len(texts), _ROW):
        block = [f"{text:>{width}}" for text in texts[first:first + _ROW]]
        pixel = pixels[first]
        if pixel is None:
            yield f"channels {first} to {first + _ROW - 1}:  {'  '.join(block)}"
        else:
            head = f"{pixel[0]},{pixel[1]}:"
            yield f"{head:<12}{block[0]}  {block[1]}"
            yield f"{'':<12}{block[2]}  {block[3]}"
