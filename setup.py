"""The C core, for the build that pyproject.toml describes."""

from setuptools import setup

setup(cffi_modules=["native/build.py:ffibuilder"])
