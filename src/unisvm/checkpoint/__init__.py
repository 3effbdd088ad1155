"""Checkpoints: stages of a fit in files, and descriptions that tell one fit from another."""

from unisvm.checkpoint.stages import Arrays, Stages, check_folder, open_stages

__all__ = ["Arrays", "Stages", "check_folder", "open_stages"]
