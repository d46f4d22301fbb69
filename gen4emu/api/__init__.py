"""The public Python API: what `import gen4emu` offers (docs/api.md).

`gen4emu/__init__.py` imports the modules of this package when one of their names is used.
"""
