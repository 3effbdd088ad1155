"""The compiled part of the package, which is left out where it cannot be built."""

from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "unisvm.compiled._sweeps",
            ["src/unisvm/compiled/module.c"],
            depends=sorted(map(str, Path("src/unisvm/compiled").glob("*.h"))),
            # with errno and floating-point traps to care for, loops would not be vectorised
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math"],
            optional=True,
        )
    ]
)
