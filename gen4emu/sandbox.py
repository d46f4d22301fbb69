"""Confinement of this process, so that a program or trace that takes over the C core reaches nothing else.

docs/sandbox.md says which calls fail then.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from pathlib import Path

from gen4emu._native import ffi, lib
from gen4emu.errors import Gen4emuError
from gen4emu.ownership import is_own_process

_READ, _WRITE, _REMOVE_DIR = (int(value) for value in (lib.G4_SANDBOX_READ, lib.G4_SANDBOX_WRITE,
                                                       lib.G4_SANDBOX_REMOVE_DIR))
# Libraries and tables of the system: modules are imported when they are used.
_SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache",
           "/etc/localtime", "/usr/share/zoneinfo", "/usr/share/locale", "/sys/devices/system/cpu", "/dev/urandom")


class Mode(Enum):
    """The values of --sandbox."""

    AUTO = "auto"  # where the kernel can
    ON = "on"
    OFF = "off"


class SandboxError(Gen4emuError):
    """The process cannot be confined."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"--sandbox on: {reason}")


class Sandbox:
    """The paths that the process needs, then confinement in `enter`.  Use it in a `with` block."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._paths: list[tuple[Path, int]] = [(Path(path), _READ) for path in (*_SYSTEM, *_python())]
        self._paths.append((Path(os.devnull), _READ | _WRITE))
        self._made: list[Path] = []
        self._wanted = mode is Mode.ON or (mode is Mode.AUTO and is_own_process()
                                           and bool(lib.g4_sandbox_available()))

    def read(self, path: Path) -> None:
        """Allow to read a file, or all files of a directory."""
        self._paths.append((path, _READ))

    def write_directory(self, directory: Path) -> None:
        """Allow to write files in a directory.  It is made now, and removed at the end if it is empty."""
        if not self._wanted:
            return
        missing = []
        for parent in (directory, *directory.parents):
            if parent.exists():
                break
            missing.append(parent)
        with suppress(OSError):  # the writer reports it
            directory.mkdir(parents=True, exist_ok=True)
            self._made += missing
            self._paths.append((directory, _WRITE))
            if missing:
                self._paths.append((missing[-1].parent, _REMOVE_DIR))

    def write_file(self, path: Path) -> None:
        """Allow to write a file: a device or pipe itself, or a new file in its directory."""
        in_place = path.exists() and not path.is_file()
        self._paths.append((path if in_place else Path(os.path.realpath(path)).parent, _WRITE))

    def enter(self) -> None:
        """Confine the process, which must have no other threads yet."""
        if not self._wanted:
            return
        if not is_own_process():
            raise SandboxError("only a process of gen4emu itself can be confined")
        if not lib.g4_sandbox_available():
            raise SandboxError("this kernel has no seccomp or Landlock for this architecture")
        if len(os.listdir("/proc/self/task")) > 1:
            if self._mode is Mode.AUTO:
                return
            raise SandboxError("the process has other threads already (OPENBLAS_NUM_THREADS=1 avoids those of numpy)")
        temporary = Path(tempfile.mkdtemp(prefix="gen4emu-"))
        tempfile.tempdir = str(temporary)  # of everything that needs one from now on
        self._made.append(temporary)
        self._paths += (temporary, _WRITE), (temporary.parent, _REMOVE_DIR)
        names = [ffi.new("char[]", os.fsencode(path)) for path, _ in self._paths]
        paths = ffi.new("struct g4_sandbox_path[]", [
            {"path": name, "access": access} for name, (_, access) in zip(names, self._paths, strict=True)])
        error = lib.g4_sandbox_enter(paths, len(names))
        if error:
            raise SandboxError(os.strerror(error))

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        for directory in self._made:
            with suppress(OSError):  # not empty
                directory.rmdir()


def _python() -> Iterable[str]:
    """The directories of Python's modules and of this package."""
    paths = sysconfig.get_paths()
    yield from {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    yield from site.getsitepackages()
    yield from (path for path in sys.path if path.endswith(("site-packages", "dist-packages", "lib-dynload")))
    yield str(Path(__file__).parent)
