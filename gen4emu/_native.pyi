"""The C core; what it declares is in native/api/border.h."""

from typing import Any

ffi: Any
lib: Any
