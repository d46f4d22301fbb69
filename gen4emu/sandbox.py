"""Confinement of this process, so that a program or trace that takes over the C core reaches nothing else.

docs/sandbox.md says which calls fail then, and which limits there are.
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
    """The paths that the process needs, then confinement in `enter`.  Use it in a `with` block.

    A child process may enter it alone: then this process removes the directories, and the child cannot.
    """

    def __init__(self, mode: Mode, temporary: Path | None = None) -> None:
        """`temporary` is a directory for temporary files, if another process has made it."""
        self._mode = mode
        self._paths: list[tuple[Path, int]] = [(Path(path), _READ) for path in (*_SYSTEM, *_python())]
        self._paths.append((Path(os.devnull), _READ | _WRITE))
        self._made: list[Path] = []
        self._temporary = temporary
        if temporary is not None:
            self._paths.append((temporary, _WRITE))
        self._owner = os.getpid()
        self.wanted = mode is Mode.ON or (mode is Mode.AUTO and is_own_process()
                                          and bool(lib.g4_sandbox_available()))

    def read(self, path: Path) -> None:
        """Allow to read a file, or all files of a directory."""
        self._paths.append((path, _READ))

    def write_directory(self, directory: Path) -> None:
        """Allow to write files in a directory.  It is made now, and removed at the end if it is empty."""
        if not self.wanted:
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

    def write_file(self, path: Path) -> None:
        """Allow to write a file: a device or pipe itself, or a new file in its directory."""
        in_place = path.exists() and not path.is_file()
        self._paths.append((path if in_place else Path(os.path.realpath(path)).parent, _WRITE))

    def overwrite(self, path: Path) -> None:
        """Allow to write a file that exists, in place."""
        self._paths.append((path, _WRITE))

    def prepare(self) -> None:
        """Check that `enter` can confine a process, and make the directory that it gets for temporary files."""
        if not self.wanted:
            return
        _check()
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="gen4emu-"))
            self._made.append(self._temporary)
            self._paths.append((self._temporary, _WRITE))

    @property
    def temporary(self) -> Path:
        """A directory for temporary files, for this process and those that it makes, before and after `enter`."""
        self.prepare()
        return self._temporary if self._temporary is not None else Path(tempfile.gettempdir())

    def enter(self) -> None:
        """Confine the process, which must have no other threads yet."""
        if not self.wanted:
            return
        _check()
        if len(os.listdir("/proc/self/task")) > 1:
            if self._mode is Mode.AUTO:
                return
            raise SandboxError("the process has other threads already (OPENBLAS_NUM_THREADS=1 avoids those of numpy)")
        self.prepare()
        tempfile.tempdir = str(self._temporary)  # of everything that needs one from now on
        if os.getpid() == self._owner:
            self._paths += ((directory.parent, _REMOVE_DIR) for directory in self._made)
        names = [ffi.new("char[]", os.fsencode(path)) for path, _ in self._paths]
        paths = ffi.new("struct g4_sandbox_path[]", [
            {"path": name, "access": access} for name, (_, access) in zip(names, self._paths, strict=True)])
        error = lib.g4_sandbox_enter(paths, len(names))
        if error:
            raise SandboxError(os.strerror(error))

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove_empty()

    def remove_empty(self) -> None:
        """Remove the directories that were made here, if they are empty."""
        for directory in self._made if os.getpid() == self._owner else ():
            with suppress(OSError):  # not empty
                directory.rmdir()


def _check() -> None:
    """Raise SandboxError unless this process may be confined, and the kernel can do it."""
    if not is_own_process():
        raise SandboxError("only a process of gen4emu itself can be confined")
    if not lib.g4_sandbox_available():
        raise SandboxError("this kernel has no seccomp or Landlock for this architecture")


def _python() -> Iterable[str]:
    """The directories of Python's modules and of this package."""
    paths = sysconfig.get_paths()
    yield from {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    yield from site.getsitepackages()
    yield from (path for path in sys.path if path.endswith(("site-packages", "dist-packages", "lib-dynload")))
    yield str(Path(__file__).parent)
