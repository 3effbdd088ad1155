"""Fits beyond memory, each in a process that is watched from outside."""
