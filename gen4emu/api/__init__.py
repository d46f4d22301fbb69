"""The public Python API of `import gen4emu` (docs/api.md).

`gen4emu/__init__.py` imports the modules of this package when one of their names is used.
"""
