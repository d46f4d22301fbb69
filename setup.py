"""The C core and the shim, for the build that pyproject.toml describes."""

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent


class BuildNative(build_ext):
    """The extension module, and with it the shim, which is no extension: a library that programs are started with."""

    def run(self):
        super().run()
        spec = spec_from_file_location("native_build", HERE / "native" / "build.py")
        build = module_from_spec(spec)
        spec.loader.exec_module(build)
        package = HERE / "gen4emu" if self.inplace else Path(self.build_lib, "gen4emu")
        build.build_shim(package, sanitize=os.environ.get("GEN4EMU_SANITIZE", "") not in ("", "0"))


setup(cffi_modules=["native/build.py:ffibuilder"], cmdclass={"build_ext": BuildNative})
