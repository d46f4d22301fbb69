"""The C core and the shim, for the build that pyproject.toml describes.

A build for pip or a wheel leaves the source tree as it was, and shares nothing with the one before: whatever it writes
is in a temporary directory, and equal sources give equal bytes in every directory.  In place (`pip install -e`,
native/build.py), the generated files are in native/generated.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from setuptools import setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

HERE = Path(__file__).resolve().parent
SCRATCH = tempfile.TemporaryDirectory(prefix="gen4emu-build-")  # removed when the process ends
# The time of every file in a wheel, so that equal sources give equal bytes: the earliest one that zip archives have.
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
sys.dont_write_bytecode = True  # the headers are derived by modules of the source tree


def native_build() -> ModuleType:
    spec = spec_from_file_location("native_build", HERE / "native" / "build.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Build(build):
    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = str(Path(SCRATCH.name, "build"))


class EggInfo(egg_info):
    def finalize_options(self) -> None:
        if self.egg_base is None and "sdist" not in self.distribution.commands:  # which packs it
            self.egg_base = SCRATCH.name
        super().finalize_options()


class BuildPython(build_py):
    """The package, with the traces of `gen4emu selftest`, which a source tree has in traces/."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for name in json.loads((HERE / "gen4emu/selftest/digests.json").read_text(encoding="utf-8")):
            target = Path(self.build_lib, "gen4emu/selftest/traces", name)
            self.mkpath(str(target.parent))
            self.copy_file(str(HERE / "traces" / name), str(target))


class BuildNative(build_ext):
    """The extension modules, and with them the shim: a library that programs are started with."""

    def run(self) -> None:
        self.native = native_build()
        self.target = HERE / "gen4emu" if self.inplace else Path(self.build_lib, "gen4emu")
        super().run()  # which takes `inplace` away until it is done

    def build_extensions(self) -> None:
        native = self.native
        in_place = self.target.parent == HERE or "build_ext" in self.distribution.commands
        generated = native.GENERATED if in_place else Path(SCRATCH.name, "generated")
        native.write_derived_headers(generated)
        if not in_place:  # the harness is no part of the product
            self.extensions = [extension for extension in self.extensions if extension.name != native.HARNESS]
        variants = native.write_variants(generated)
        reproducible = [] if in_place else native.without_paths(Path(SCRATCH.name))
        for extension in self.extensions:
            extension.sources += [str(path.relative_to(HERE) if in_place else path) for path in variants]
            extension.include_dirs.append(str(generated.relative_to(HERE)) if in_place else str(generated))
            extension.extra_compile_args += native.compiler_flags() + reproducible
        files = {source for extension in self.extensions for source in extension.sources}
        shim = native.Shim(Path(SCRATCH.name, "shim"), generated, reproducible)
        finished: set[str] = set()  # objects: the extensions share most of them

        with native.Compilations(len(files) + shim.files, self.parallel or native.jobs()) as compilations:

            def compile_all(sources: list[str], output_dir: str, macros: list[tuple[str, str]], include_dirs: list[str],
                            extra_postargs: list[str], **_: Any) -> list[str]:
                compiler = self.compiler
                command = [*compiler.compiler_so, *(f"-D{name}={value}" for name, value in macros),
                           *(f"-I{folder}" for folder in [*include_dirs, *compiler.include_dirs])]
                objects = dict(zip(sources, compiler.object_filenames(sources, output_dir=output_dir), strict=True))
                started = []
                missing = [source for source in sources if objects[source] not in finished]
                for source in sorted(missing, key=native.slowest_first):
                    Path(objects[source]).parent.mkdir(parents=True, exist_ok=True)
                    started.append(compilations.start(
                        source, native.run_compiler, [*command, "-c", source, "-o", objects[source], *extra_postargs]))
                if not finished:
                    shim.start(compilations)  # many small files: they fill the gaps at the end
                for each in started:
                    each.result()
                finished.update(objects.values())
                return list(objects.values())

            self.compiler.compile = compile_all
            super().build_extensions()
            shim.finish(self.target)


# Manual pages and completions, to where man and shells look for them below the prefix.
SHARED = [(str(directory.relative_to(HERE)), [str(path.relative_to(HERE)) for path in sorted(directory.iterdir())])
          for directory in (HERE / "share/man/man1", HERE / "share/bash-completion/completions",
                            HERE / "share/zsh/site-functions", HERE / "share/fish/vendor_completions.d")]
# Without the global interpreter lock there is no limited API.
one_for_all = {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"py_limited_api": "cp311"}
setup(cffi_modules=["native/build.py:ffibuilder", "native/build.py:harness_ffibuilder"], data_files=SHARED,
      cmdclass={"build": Build, "build_py": BuildPython, "build_ext": BuildNative, "egg_info": EggInfo},
      options={"bdist_wheel": one_for_all})
