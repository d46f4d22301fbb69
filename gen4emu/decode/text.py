"""Nodes as compact text: one line a dword, state indented below the command that uses it, diagnostics marked `!!`.

`TextRenderer.render` gives the text of one node; the text of equal commands is kept with their shared body.
"""

from __future__ import annotations

from gen4emu.decode.fieldtext import PLAIN, Style, Theme, address_digits, lines_of
from gen4emu.decode.lint_rules import Severity
from gen4emu.decode.nodes import (
    BatchEnd,
    BatchStart,
    Body,
    Command,
    Data,
    Diagnostic,
    Item,
    Kernel,
    Node,
    Note,
    Register,
    Registers,
    Shared,
    State,
    SubmissionEnd,
    SubmissionStart,
    TraceStart,
)
from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen

_RAW_ROWS = 4
_ORIGIN = {"ring": "called by the ring", "chain": "the last one continues here", "call": "called by the last one",
           "object": "not reached from the ring"}
_WHY = {"end": "", "chain": ", continues elsewhere", "truncated": ", cut off"}


class TextRenderer:
    """The compact layout."""

    def __init__(self, theme: Theme = PLAIN, *, offsets: bool = True, headers: bool = False) -> None:
        self.theme, self.offsets, self.headers = theme, offsets, headers
        self.style = Style(theme, offsets)
        self._gen, self._place = Gen(0), ""  # of the last command: how an address is written

    def render(self, item: Item) -> str:
        if isinstance(item, Command):
            return self.command(item)
        if isinstance(item, BatchStart):
            return f"\n{self._title(f'batch at 0x{item.address:08x}')} ({_ORIGIN.get(item.origin, item.origin)})\n"
        if isinstance(item, BatchEnd):
            return f"{self.theme.dim}{item.dwords} dwords{_WHY.get(item.why, '')}{self.theme.off}\n\n"
        if isinstance(item, Diagnostic):
            return self.diagnostic(item, "", full=True)
        if isinstance(item, TraceStart):
            return self._trace(item)
        if isinstance(item, SubmissionStart):
            return self._submission(item)
        if isinstance(item, SubmissionEnd):
            return ""
        if isinstance(item, Registers):
            return self._registers(item)
        return self._note(item)

    # --- commands ------------------------------------------------------------------------------------------------
    def command(self, node: Command) -> str:
        body = node.body
        text = body.text
        if text is None:
            text = body.text = self._body(body)
        if self.headers or node.brief:
            text = text[:text.index("\n") + 1]
        if self.offsets:
            if body.gen is not self._gen:
                self._gen = body.gen
                self._place = f"{self.theme.dim}0x%0{address_digits(body.gen)}x{self.theme.off}  "
            text = self._place % node.address + text
        if node.draw is not None:
            first, _, rest = text.partition("\n")
            text = f"{first}  {self.theme.title}draw {node.draw}{self.theme.off}\n{rest}"
        if node.repeat > 1:
            text = f"{text[:-1]}  x {node.repeat}\n"
        if node.guilty:
            text = f"{self.theme.error}==> the command streamer stopped here{self.theme.off}\n{text}"
        if node.diagnostics:
            text += "".join(self.diagnostic(d, "    ") for d in node.diagnostics)
        if node.children and not self.headers:
            text += self.children(node)
        return text

    def children(self, node: Command) -> str:
        children = node.children
        if not isinstance(children, Shared):
            return "".join([self.below(child, 1) for child in children])
        if children.text is None:
            children.text = "".join([self.below(child, 1) for child in children])
        return children.text

    def _body(self, body: Body) -> str:
        if body.layout is not None:
            return lines_of(body.layout, body.gen, self.style)(body.words)
        t = self.theme
        bits = f"{t.dim}{body.words[0]:08x}{t.off}  " if body.words and self.offsets else ""
        lines = [f"{bits}{t.name}{body.name}{t.off}\n"]
        rest, margin = body.words[1:], " " * (4 + address_digits(body.gen))
        for i in range(0, min(len(rest), 8 * _RAW_ROWS), 8):
            lines.append(f"{margin}{' '.join(f'{w:08x}' for w in rest[i:i + 8])}\n")
        if len(rest) > 8 * _RAW_ROWS:
            lines.append(f"{margin}... {len(rest) - 8 * _RAW_ROWS} more dwords\n")
        return "".join(lines)

    # --- data below commands -------------------------------------------------------------------------------------
    def below(self, node: Node, depth: int) -> str:
        indent = "    " * depth
        parts = [f"{indent}{self._head(node)}\n"]
        inner = indent + "    "
        if isinstance(node, State):
            if not node.same and node.body.layout is not None:
                style = Style(self.theme, self.offsets, inner)
                parts.append(lines_of(node.body.layout, node.body.gen, style)(node.body.words))
        elif isinstance(node, Kernel):
            if node.first:
                parts += [f"{inner}{row}\n" for line in node.code.lines for row in line.split("\n")]
        elif isinstance(node, Data):
            parts += [f"{inner}{row}\n" for row in node.rows]
            if node.more:
                parts.append(f"{inner}... {node.more} more\n")
        parts += [self.diagnostic(d, inner) for d in node.diagnostics]
        parts += [self.below(child, depth + 1) for child in node.children]
        return "".join(parts)

    def _head(self, node: Node) -> str:
        t = self.theme
        address = f"{t.dim}0x{node.address:08x}{t.off}  " if self.offsets else ""
        role = f" ({node.role})" if node.role else ""
        text = f"{address}{t.block}{node.title}{t.off}"
        if isinstance(node, Register):
            return f"{text} (register)"
        if isinstance(node, State):
            return f"{text}{role}{' as above' if node.same else ''}"
        if isinstance(node, Kernel):
            what = f"{node.code.instructions} instructions, {node.size} bytes" if node.first else "shown above"
            return f"{text} {node.code.number}{role}: {what}"
        return f"{text}{role}: {node.size} bytes" if node.size else text + role

    # --- the rest ------------------------------------------------------------------------------------------------
    def diagnostic(self, d: Diagnostic, indent: str, full: bool = False) -> str:
        color = self.theme.error if d.severity is Severity.ERROR else self.theme.lint
        text = str(d) if full else f"{d.where}: {d.text}"
        return f"{indent}{color}!! {d.rule}: {text}{self.theme.off}\n"

    def _title(self, text: str) -> str:
        return f"{self.theme.title}{text}{self.theme.off}"

    def _trace(self, item: TraceStart) -> str:
        device = "device unknown" if item.device is None else device_text(item.device)
        application = f", {item.application}" if item.application else ""
        return f"{self._title(item.file)}: {item.container}, {device}{application}\n"

    def _submission(self, item: SubmissionStart) -> str:
        head = self._title(f"submission {item.number}")
        hung = f", hung at 0x{item.acthd:08x}" if item.hung and item.acthd is not None else ", hung" * item.hung
        return f"\n{head}: {item.engine} ring at 0x{item.ring_address:08x}, {item.ring_bytes} bytes{hung}\n"

    def _registers(self, item: Registers) -> str:
        lines = [f"{name}: {value}\n" for name, value in item.state.fields.items()]
        for name, value, meaning in item.lines:
            lines.append(f"  {name:<20} 0x{value:08x}{'  ' if meaning else ''}{meaning}\n")
        return "".join(lines)

    def _note(self, item: Note) -> str:
        color = self.theme.error if item.kind == "warning" else self.theme.dim
        number = "" if item.frame is None else f" (end of frame {item.frame})"
        return f"{color}{item.kind}: {item.text}{number}{self.theme.off}\n"


def device_text(device: Device) -> str:
    return f"{device.marketing} (0x{device.pci_id:04x})"
