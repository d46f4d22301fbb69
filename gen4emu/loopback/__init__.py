"""Pages for a browser on this machine: a web server with one web socket, without a library."""
