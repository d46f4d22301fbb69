"""Output in the text layouts of other decoders: libdrm's and aubinator's.

Same nodes, other looks: one line a dword with its address, or one line a field with its name in words.
"""

from __future__ import annotations

from collections.abc import Iterator

from gen4emu.decode.compiled import shown
from gen4emu.decode.fieldtext import PLAIN, Style, Theme, lines_of
from gen4emu.decode.nodes import Body, Command, Data, Item, Kernel, Node, State, TraceStart
from gen4emu.decode.text import TextRenderer
from gen4emu.hw.fields import Enum, Field

_BARE = Style(PLAIN, offsets=False)


class LibdrmRenderer(TextRenderer):
    """`0x12300000:      0x61010004: STATE_BASE_ADDRESS`, the operands below in the same form."""

    def command(self, node: Command) -> str:
        texts = _dword_texts(node.body)
        mark = "HEAD" if node.guilty else "    "
        lines = []
        for i, (word, text) in enumerate(zip(node.body.words, texts, strict=True)):
            if i and (self.headers or node.brief):
                break
            place = f"0x{node.address + 4 * i:08x}: {mark} 0x{word:08x}: " if self.offsets else ""
            repeat = f" x {node.repeat}" if node.repeat > 1 else ""
            if node.draw is not None and i == 0:
                repeat += f" (draw {node.draw})"
            lines.append(f"{place}{'' if i == 0 else '   '}{text}{repeat}".rstrip() + "\n")
            mark = "    "
        lines += [self.diagnostic(d, "    ") for d in node.diagnostics]
        if not self.headers:
            lines.append(self.children(node))
        return "".join(lines)


def _dword_texts(body: Body) -> list[str]:
    """For each dword its fields in one line; the first has the name."""
    if body.layout is None:
        return [body.name, *("" for _ in body.words[1:])] if body.words else []
    compiled = lines_of(body.layout, body.gen, _BARE)
    texts = []
    known = min(len(body.words), compiled.known)
    words = [*body.words, *([0] * (compiled.known - known))]
    for i in range(len(body.words)):
        text = compiled.one(words, i) if i < known else ""
        texts.append(" ".join(text.split()))
    for a in body.layout.arrays_for(body.gen):
        item = lines_of(a.item, body.gen, _BARE)
        step = a.item.size(body.gen)
        count = (len(body.words) - a.dword) // step if a.count is None else a.count
        for k in range(count):
            at = a.dword + k * step
            chunk = body.words[at:at + step]
            if len(chunk) == step:
                texts[at:at + step] = [" ".join(item.one(chunk, d).split()) for d in range(step)]
    return texts


class AubinatorRenderer(TextRenderer):
    """Fields one below the other: `    Surface Base Address: 0x00113000`, structures in braces."""

    def render(self, item: Item) -> str:
        if not isinstance(item, TraceStart):
            return super().render(item)
        device = item.device
        rows = [("File name:", item.file), ("PCI ID:", "" if device is None else f"0x{device.pci_id:x}"),
                ("Application name:", item.application), ("Decoding as:", "" if device is None else device.marketing)]
        return "".join(f"{name:<18} {value}".rstrip() + "\n" for name, value in rows) + "\n"

    def command(self, node: Command) -> str:
        t = self.theme
        first = f"0x{node.address:08x}:  0x{node.body.words[0]:08x}:  " if self.offsets and node.body.words else ""
        repeat = f" x {node.repeat}" if node.repeat > 1 else ""
        if node.draw is not None:
            repeat += f" (draw {node.draw})"
        mark = f"  {t.error}<-- the command streamer stopped here{t.off}" if node.guilty else ""
        lines = [f"{first}{t.name}{node.body.name}{t.off}{repeat}{mark}\n"]
        lines += [self.diagnostic(d, "    ") for d in node.diagnostics]
        if not self.headers:
            if not node.brief:
                lines += _field_lines(node.body, "    ", t)
            lines.append(self.children(node))
        return "".join(lines)

    def below(self, node: Node, depth: int) -> str:
        indent = "    " * depth
        parts = [f"{indent}{self._head(node)}\n"]
        inner = indent + "    "
        if isinstance(node, State) and not node.same:
            parts += _field_lines(node.body, inner, self.theme)
        elif isinstance(node, Kernel) and node.first:
            parts += [f"{inner}{row}\n" for line in node.code.lines for row in line.split("\n")]
        elif isinstance(node, Data):
            parts += [f"{inner}{row}\n" for row in node.rows]
        parts += [self.diagnostic(d, inner) for d in node.diagnostics]
        parts += [self.below(child, depth + 1) for child in node.children]
        return "".join(parts)


def _field_lines(body: Body, indent: str, theme: Theme) -> Iterator[str]:
    if body.layout is None:
        return
    view = body.view
    for f, raw in view.fields():
        if shown(f, raw):
            yield f"{indent}{_words(f.name)}: {theme.value}{_value(f, raw)}{theme.off}\n"
    for a in body.layout.arrays_for(body.gen):
        for i, item in enumerate(view.array(a)):
            yield f"{indent}{_words(a.name)} {i}: <struct {item.layout.name}> {{\n"
            for f, raw in item.fields():
                if shown(f, raw):
                    yield f"{indent}    {_words(f.name)}: {theme.value}{_value(f, raw)}{theme.off}\n"
            yield f"{indent}}}\n"


def _words(name: str) -> str:
    return " ".join(word.capitalize() for word in name.split("_"))


def _value(f: Field, raw: int) -> str:
    return f"{raw} ({f.text(raw)})" if isinstance(f, Enum) else f.text(raw)


RENDERERS: dict[str, type[TextRenderer]] = {
    "compact": TextRenderer, "libdrm": LibdrmRenderer, "aubinator": AubinatorRenderer,
}
