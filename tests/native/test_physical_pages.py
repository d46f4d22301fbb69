"""Host pages of physical memory (native/core/physical.c)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"

# Makes pages in order, and prints how many there are and how many do not follow the one before in host memory.
PROGRAM = """
#include <stdio.h>
#include "core/physical.h"

int main(void) {
    struct g4_mem_physical *const physical = g4_physical_create(1 << 20);
    const unsigned char *before = 0;
    unsigned made = 0, breaks = 0;
    for (unsigned page = 0; physical && page < 4096; page++) {
        unsigned char *const bytes = g4_physical_make(physical, page);
        if (!bytes) {
            break;
        }
        bytes[page % 4096] = 1;
        made++;
        breaks += before && bytes != before + 4096;
        before = bytes;
    }
    g4_physical_destroy(physical);
    printf("%u %u\\n", made, breaks);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("physical")
    write_headers = "import sys, build; from pathlib import Path; build.write_derived_headers(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", write_headers, folder], cwd=NATIVE, check=True)
    (folder / "pages.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c11", "-O1", f"-I{NATIVE}", f"-I{folder}", "-pthread", "-o", folder / "pages",
                    folder / "pages.c", NATIVE / "core/physical.c"], check=True)
    return folder / "pages"


def count(program: Path, limit: Callable[[], None] | None = None) -> list[int]:
    # A sanitizer that is preloaded for Python reserves more than the limit, and the program is not built with it.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([program], preexec_fn=limit, env=environment, check=True, capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


def test_pages_that_are_made_one_after_the_other_are_in_one_piece(program: Path) -> None:
    """16 MiB, as much as a texture of 2048x2048."""
    assert count(program) == [4096, 0]


def test_a_small_address_space_has_small_pieces(program: Path) -> None:
    size = 48 << 20
    made, breaks = count(program, lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
    assert made == 4096
    assert breaks <= 15
