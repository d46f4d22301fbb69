"""The process that runs the body of a test: python child.py FILE FUNCTION."""

import importlib.util
import sys

from tests.live.shim.drm import RENDER, Device


def main() -> None:
    file, name = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("client", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    body = getattr(module, name)
    body(Device(getattr(body, "path", RENDER)))


main()
