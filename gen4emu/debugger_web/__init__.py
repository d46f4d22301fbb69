"""The debugger in a browser: a server on this machine, and its page (docs/debug-web.md)."""
