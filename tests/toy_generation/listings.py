"""The lines of existing files that list generations: all that a new one changes in them."""

from __future__ import annotations

# file -> [(a line that is there, the lines that take its place)]
LISTINGS: dict[str, list[tuple[str, str]]] = {
    "gen4emu/hw/gen.py": [
        ("    KBL = 1024  # Kaby Lake\n", "    KBL = 1024  # Kaby Lake\n    TOY = 1 << 20\n"),
        ('          Gen.GEN8: "gen8", Gen.GEN9: "gen9"}\n',
         '          Gen.GEN8: "gen8", Gen.GEN9: "gen9", Gen.TOY: "toy"}\n'),
    ],
    "gen4emu/hw/chips.py": [
        ("DEVICES: tuple[Device, ...] = (\n",
         "DEVICES: tuple[Device, ...] = (\n"
         '    Device(0x7007, "toy", "Toy", Gen.TOY, eu_count=10, threads_per_eu=5, tid_mask=0x7, urb_rows=1024,\n'
         "           surface_state_dwords=5, gtt_entries=1 << 19, has_bsd=True, kernel=KernelFacts(0)),\n"),
    ],
    "gen4emu/hw/catalogue.py": [
        ('_TABLES: dict[str, Gen] = {', '_TABLES: dict[str, Gen] = {"toy": Gen.TOY, '),
    ],
    "gen4emu/isa/encodings.py": [
        ('_MODULES: dict[str, Gen] = {', '_MODULES: dict[str, Gen] = {"toy": Gen.TOY, '),
    ],
    "gen4emu/isa/opcodes.py": [
        ("\n# The opcodes of LaterOpcode that the table has under another name.\n",
         "OPCODES += tuple(OpcodeInfo(o.name, 0x70 if o.name == 'line' else o.number, o.shape, o.flags, Gen.TOY)\n"
         "                 for o in OPCODES if o.gens & Gen.EL)\n"
         "\n# The opcodes of LaterOpcode that the table has under another name.\n"),
    ],
    "native/build.py": [
        ('DERIVED = {"enums.h": "gen4emu.core_enums",',
         'DERIVED = {"hw_toy.h": "gen4emu.hw.toy.c_header", "isa_toy.h": "gen4emu.isa.toy",\n'
         '           "enums.h": "gen4emu.core_enums",'),
    ],
    "native/models/models.h": [
        ("extern const struct g4_model g4_model_eaglelake;\n",
         "extern const struct g4_model g4_model_eaglelake;\nextern const struct g4_model g4_model_toy;\n"),
    ],
    "native/models/models.c": [
        ("static const struct g4_model *const models[] = {\n",
         "static const struct g4_model *const models[] = {\n    &g4_model_toy,\n"),
    ],
}
