"""Readers of .npy, .npz, Parquet and LIBSVM files, and of tables of text (CSV, TSV)."""
