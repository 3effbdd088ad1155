"""Who is faster: every kernel machine that can be installed, on the same data, threads and parameters."""
