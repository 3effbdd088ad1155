"""The compiled part of the package, which is left out where it cannot be built."""

import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# one wheel a platform serves all versions of Python; the one without the interpreter's lock has no limited API
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "unisvm.compiled._sweeps",
            ["src/unisvm/compiled/module.c"],
            depends=sorted(map(str, Path("src/unisvm/compiled").glob("*.h"))),
            # with errno and floating-point traps to care for, loops would not be vectorised
            extra_compile_args=["-O3", "-fno-math-errno", "-fno-trapping-math"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
