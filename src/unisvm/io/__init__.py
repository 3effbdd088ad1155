"""Readers of .npy, Parquet and LIBSVM files, block by block."""
