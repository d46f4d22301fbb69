"""The C core; what it declares is in the headers in native/api."""

from typing import Any

ffi: Any
lib: Any
