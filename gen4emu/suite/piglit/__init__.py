"""piglit on an emulated device, compared with what real silicon passes."""
