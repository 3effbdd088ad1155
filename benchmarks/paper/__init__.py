"""The paper's tables and figures, one script each: published, ours, difference."""
