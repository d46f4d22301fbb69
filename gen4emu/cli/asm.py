"""`gen4emu asm`: assembly in Mesa's or IGT's syntax to EU machine code."""

from __future__ import annotations

import sys

import click

from gen4emu.cli import options
from gen4emu.errors import AssemblyError
from gen4emu.hw.chips import Device
from gen4emu.isa import Syntax, assemble
from gen4emu.isa.code_text import hex_lines
from gen4emu.trace.output import Output
from gen4emu.trace.reader import contents


@click.command()
@click.argument("file", default="-")
@click.option("-d", "--device", callback=options.device, metavar="DEVICE", default="g45", show_default=True,
              help="The device the code is for: g45, 965gm, 0x2e22, ...")
@click.option("--syntax", type=click.Choice([s.value for s in Syntax]),
              help="The assembler for which the text was written. By default inferred from the text.")
@click.option("--hex", "hexadecimal", is_flag=True, help="Write bytes as text, 16 a line, as Mesa's assembler does.")
@click.option("-o", "--output", "output_path", default="-", metavar="PATH", help="Write to this file; - is stdout.")
def asm(file: str, device: Device, syntax: str | None, hexadecimal: bool, output_path: str) -> None:
    """Assemble FILE (- is stdin).

    Subregisters count elements in Mesa's syntax and bytes in IGT's. --syntax, or a line `.syntax igt` in the file,
    selects the syntax; otherwise it is inferred from the text.

    \b
    Example:
      gen4emu asm kernel.g4a -o kernel.bin
    """
    name = "<stdin>" if file == "-" else file
    text = _text(contents(file, options.CODE_LIMIT), name)
    code = assemble(text, device.gen, name, syntax=Syntax(syntax) if syntax else None)
    if not code:
        raise AssemblyError(name, 1, 1, "the file has no instruction")
    result = "".join(hex_lines(code)).encode() if hexadecimal else code
    if output_path == "-":
        sys.stdout.buffer.write(result)
        return
    with Output(output_path) as out:
        out.write(result)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        column = e.start - (data.rfind(b"\n", 0, e.start) + 1) + 1
        raise AssemblyError(name, line, column, f"byte 0x{data[e.start]:02x} is not UTF-8 text") from None
