"""A page of this verb in the user's browser, although the verb confines its process."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path


class Browser:
    """A process that waits to open one page.  Make it before the confinement, with one thread."""

    def __init__(self, page: Path) -> None:
        page = page.absolute()
        read, self._write = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self._write)
                if os.read(read, 1):
                    webbrowser.open(page.resolve().as_uri())
            finally:
                os._exit(0)
        os.close(read)

    def show(self) -> None:
        """The page is there."""
        os.write(self._write, b"1")
        os.close(self._write)
        os.waitpid(self._process, 0)
