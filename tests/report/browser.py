"""A headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from PIL import Image
from websockets.sync.client import ClientConnection, connect

_DEADLINE = 60.0


def chromium() -> str | None:
    """The program, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One tab.  `console` and `requests` collect what the page prints and loads."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self._events: list[str] = []
        self.console: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, and its result."""
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=_DEADLINE))
            if message.get("id") == self._last:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._event(message)

    def _event(self, message: dict[str, Any]) -> None:
        name, parameters = message.get("method", ""), message.get("params", {})
        self._events.append(name)
        if name == "Runtime.consoleAPICalled":
            self.console.append(str([value.get("value") for value in parameters["args"]]))
        elif name == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description") or details["text"])
        elif name == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        elif name == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def open(self, url: str) -> Self:
        """Navigate, and wait until the report is shown."""
        self.send("Page.navigate", url=url)
        self.wait("document.querySelector('main .pane') !== null")
        return self

    def evaluate(self, expression: str) -> Any:
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Until an expression is true; parts of the page that it looks into may not be there yet."""
        end = time.monotonic() + _DEADLINE
        attempt = (f"(() => {{ try {{ return {expression}; }} "
                   "catch (e) { if (e instanceof TypeError) return false; throw e; } })()")
        while time.monotonic() < end:
            found = self.evaluate(attempt)
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"still false: {expression}; console: {self.console}")

    def go(self, fragment: str, until: str) -> Any:
        """Show a place of the page."""
        self.evaluate(f"location.hash = {json.dumps(fragment)}; 0")
        return self.wait(until)

    def key(self, text: str) -> None:
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, key=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=text)

    def resize(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


@contextmanager
def browser(profile: Path, *arguments: str) -> Iterator[Page]:
    """A browser with one page of 1280x800."""
    program = chromium()
    assert program is not None
    process = subprocess.Popen(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
         "--window-size=1280,800", "--disable-background-networking", "--no-first-run",
         f"--user-data-dir={profile}", *arguments, "about:blank"],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        port = _port(profile / "DevToolsActivePort", process)
        with connect(f"ws://127.0.0.1:{port[0]}{port[1]}", max_size=None) as root:
            root.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
            targets = json.loads(root.recv(timeout=_DEADLINE))["result"]["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        with connect(f"ws://127.0.0.1:{port[0]}/devtools/page/{target}", max_size=None) as connection:
            page = Page(connection)
            page.resize(1280, 800)
            page.send("Emulation.setFocusEmulationEnabled", enabled=True)  # or keys may get lost
            yield page
    finally:
        process.terminate()
        process.wait(timeout=_DEADLINE)


def _port(file: Path, process: subprocess.Popen[bytes]) -> tuple[int, str]:
    end = time.monotonic() + _DEADLINE
    while time.monotonic() < end:
        assert process.poll() is None, "chromium has ended"
        lines = file.read_text().split("\n") if file.exists() else []
        if len(lines) >= 2:
            return int(lines[0]), lines[1]
        time.sleep(0.05)
    raise AssertionError("chromium does not answer")


HOSTILE = "<img src=x onerror=document.title='owned'>"
SHOWN = "document.querySelector('.pane:not([hidden])')"
Pixels = npt.NDArray[np.uint8]


def canvas(page: Page) -> Pixels:
    """The canvas of the shown pane with its picture at 1:1, once it has the size of its place."""
    page.wait(f"""(({{width, height, clientWidth, clientHeight}}) =>
        width === Math.round(clientWidth * devicePixelRatio)
        && height === Math.round(clientHeight * devicePixelRatio))({SHOWN}.querySelector('.picture canvas'))""")
    page.evaluate(f"[...{SHOWN}.querySelectorAll('.picture button')].find(b => b.textContent === '1:1').click()")
    uri = page.evaluate(f"{SHOWN}.querySelector('.picture canvas').toDataURL()")
    with Image.open(BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        return np.array(image.convert("RGB"))


def holds(whole: Pixels, picture: Pixels) -> bool:
    """Whether a picture is in the middle of a larger one, but for its outermost pixels, which have a frame."""
    height, width = picture.shape[:2]
    for y in ((whole.shape[0] - height) // 2 + d for d in (-1, 0, 1)):
        for x in ((whole.shape[1] - width) // 2 + d for d in (-1, 0, 1)):
            part = whole[y:y + height, x:x + width]
            if part.shape == picture.shape and np.array_equal(part[2:-2, 2:-2], picture[2:-2, 2:-2]):
                return True
    return False
