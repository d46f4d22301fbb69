"""The directory through which programs reach a server.  Only this user may write to it.

Another user who could write to it could replace the socket, and the libraries that LD_PRELOAD names.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from gen4emu.errors import Gen4emuError

SOCKET = "socket"


class DirectoryError(Gen4emuError):
    """A directory that a server or a program must not use."""

    def __init__(self, directory: Path, problem: str) -> None:
        super().__init__(f"{directory}: {problem}")


def create(wanted: Path | None) -> Path:
    """Create an empty directory that only this user can enter: `wanted`, which may exist, or a temporary one."""
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="gen4emu-"))
    try:
        wanted.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        _check(wanted)
        if any(wanted.iterdir()):
            raise DirectoryError(wanted, "not empty; a server needs a new or an empty directory") from None
    except OSError as e:
        raise DirectoryError(wanted, f"cannot be created: {e.strerror or e}") from None
    wanted.chmod(0o700)
    return wanted.absolute()


def check_server(directory: Path) -> None:
    """Raise DirectoryError unless a server of this user listens in a directory that only this user can change."""
    _check(directory)
    try:
        status = (directory / SOCKET).lstat()
    except FileNotFoundError:
        status = None
    if status is None or not stat.S_ISSOCK(status.st_mode):
        raise DirectoryError(directory, f"no server is there (gen4emu run --serve {directory})")
    if status.st_uid != os.geteuid():
        raise DirectoryError(directory, f"its socket belongs to {_user(status.st_uid)}")


def _check(directory: Path) -> None:
    status = directory.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise DirectoryError(directory, "a symbolic link; name the directory itself")
    if not stat.S_ISDIR(status.st_mode):
        raise DirectoryError(directory, "not a directory")
    if status.st_uid != os.geteuid():
        raise DirectoryError(directory, f"belongs to {_user(status.st_uid)}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise DirectoryError(directory, f"other users can write to it (chmod go-w {directory})")


def _user(number: int) -> str:
    return f"another user ({number})"
