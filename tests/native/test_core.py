"""Builds and runs the C programs of this directory: they test what the core's units use and Python does not see."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ["core/memory.c", "core/pool.c", "core/far_pages.c", "core/physical.c", "core/tiling.c", "core/tile_copy.c",
        "core/processors.c", "core/variant.c", "generated/variants/core_tile_copy_avx2.c",
        "generated/variants/core_tile_copy_avx512.c"]
INTERMEDIATE_FORM = ["eu/jit/ir.c", "eu/jit/allocate.c", "eu/jit/waits.c"]


def build_and_run(directory: Path, name: str, units: list[str]) -> None:
    compiler = shlex.split(os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc") or "")
    assert compiler, "the C compiler that built the package"
    checked = os.environ.get("GEN4EMU_SANITIZE", "") not in ("", "0")
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if checked else []
    program = directory / name
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    subprocess.run([*compiler, "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *sanitize,
                    "-I", str(ROOT / "native"),
                    "-I", str(ROOT / "native/generated"), str(ROOT / "tests/native" / f"{name}.c"),
                    *(str(ROOT / "native" / unit) for unit in units), "-o", str(program)],
                   check=True, env=environment)
    done = subprocess.run([program], capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_inline_accesses_threads_and_hostile_arguments(tmp_path: Path) -> None:
    build_and_run(tmp_path, "core_test", CORE)


def test_the_intermediate_form_of_machine_code(tmp_path: Path) -> None:
    build_and_run(tmp_path, "ir_test", INTERMEDIATE_FORM)
