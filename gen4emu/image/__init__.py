"""Surfaces as arrays and pictures: texel decoding, PNG and npy files, comparison."""
