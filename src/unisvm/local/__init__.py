"""Local machines: rows are parted into cells, and each cell has a machine of its own."""
