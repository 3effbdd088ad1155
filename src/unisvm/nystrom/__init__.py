"""The Nyström approximation of the kernel: landmarks, features on them, and the features' second moments."""

from unisvm.nystrom.landmarks import LandmarkRule

__all__ = ["LandmarkRule"]


def __dir__() -> list[str]:
    return sorted(__all__)
