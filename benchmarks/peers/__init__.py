"""Comparison of kernel machines on the same data, with the same threads and parameters."""
