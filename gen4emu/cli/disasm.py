"""`gen4emu disasm`: EU machine code to assembly that `gen4emu asm` reads back."""

from __future__ import annotations

import click

from gen4emu.cli import options
from gen4emu.cli.terminal import output
from gen4emu.errors import DecodeError
from gen4emu.hw.chips import Device
from gen4emu.isa import disassemble
from gen4emu.isa.code_text import code_from
from gen4emu.trace.reader import contents


@click.command()
@click.argument("file", default="-")
@click.option("-d", "--device", callback=options.device, metavar="DEVICE", default="g45", show_default=True,
              help="The device the code is for: g45, 965gm, 0x2e22, ...")
@click.option("--offset", callback=options.address, metavar="N", help="Start at byte N and stop where the kernel ends.")
@click.option("--length", callback=options.address, metavar="N", help="Stop after N bytes.")
@click.option("--base", callback=options.address, default="0", metavar="ADDRESS", help="The address shown for byte 0.")
@click.option("--hex", "hexadecimal", is_flag=True, help="Show the bytes of each instruction.")
@click.option("--no-offsets", is_flag=True, help="Omit addresses.")
@click.option("--no-labels", is_flag=True, help="Write jumps as numbers, as Mesa's assembler requires on Gen4.")
@click.option("--pager/--no-pager", default=True, help="On a terminal, use a pager.")
@click.option("-o", "--output", "output_path", metavar="PATH", help="Write to this file.")
def disasm(file: str, device: Device, offset: int | None, length: int | None, base: int,
           hexadecimal: bool, no_offsets: bool, no_labels: bool, pager: bool, output_path: str | None) -> None:
    """Disassemble FILE (- is stdin): raw code, or hexadecimal text as Mesa's and IGT's assemblers write it.

    The result assembles to the same bytes. Bytes that are not an instruction become .dword.

    \b
    Examples:
      gen4emu disasm kernel.bin
      gen4emu disasm --device 965gm --offset 0x1c0 --hex heap.bin
    """
    code = code_from(contents(file, options.CODE_LIMIT))
    start = offset or 0
    if start > len(code):
        raise DecodeError(f"{file}: offset 0x{start:x} is beyond the end: the file has 0x{len(code):x} bytes")
    end = None if offset is not None else len(code)
    if length is not None:
        end = start + length
    with output(output_path, pager) as write:
        for line in disassemble(code, device.gen, base=base, start=start, end=end, labels=not no_labels):
            write(line.render(offsets=not no_offsets, hexadecimal=hexadecimal) + "\n")
