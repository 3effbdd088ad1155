"""The tool that checks the structure of the package finds what it should, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "check_structure.py"

#: lines that break a rule, each by itself
ONE_LINERS = {
    "private": [
        'getattr(x, "_a")',
        'getattr(x, "_a", None)',
        'builtins.getattr(x, "_a")',
        'setattr(x, "_a", 0)',
        'delattr(x, "_a")',
        'hasattr(x, "_a")',
        'setattr(x, "_score_func", 0)',
        'object.__getattribute__(x, "_a")',
        'operator.attrgetter("a._a")',
        "x._a__",
    ],
    "dict": [
        "d = x.__dict__",
        "d: dict = vars(x)",
        "d, e = vars(x), 0",
        "d = vars(x) if x else {}",
        "f(d := vars(x))",
        'operator.setitem(x.__dict__, "a", 0)',
        "setitem(vars(x), 0, 0)",
        "dict.update(vars(x), a=0)",
        'getattr(x, "__dict__")',
        'setattr(x, "__dict__", {})',
        'object.__setattr__(x, "a", 0)',
    ],
    "lazy": [
        '__import__("a")',
        'importlib.import_module("a")',
        'import_module("a")',
        "from importlib import import_module as a",
        'exec("import a")',
        'builtins.eval("a")',
        "import pandas as pd",
        "from dask.array import Array",
        "class A: import rich",
    ],
}

#: C sources of which the braces do not balance
UNBALANCED = [
    "int f(void) {\n",
    "}\nint f(void) {\n",
    "#define BEGIN {\nint f(void) BEGIN\n}\n",
    "#error it's wrong\nint f(void) {\n#error isn't\n",
]

ON_DEMAND = "import importlib\ndef __getattr__(name):\n    return importlib.import_module(name)\n"

LONG_BODY = "    x = 0\n" * 60
LONG_DOCSTRING = '    """Summary.\n' + "\n    More.\n" * 40 + '    """\n'


def run(tree, *options):
    return subprocess.run([sys.executable, TOOL, *options, tree], capture_output=True, text=True, check=False)


def findings(tmp_path, files):
    """Findings in a package of the given files, each as file, line and rule."""
    for name, text in files.items():
        path = tmp_path / "src" / "unisvm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = run(tmp_path)
    assert done.stderr == ""
    found = [line.removeprefix("src/unisvm/").split(": ")[:2] for line in done.stdout.splitlines() if ": " in line]
    assert done.returncode == bool(found)
    return [f"{place} {rule}" for place, rule in found]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"losses.py": "x = 0\n" * 401}, ["losses.py:1 size"], id="long file"),
        pytest.param({"losses.py": f"@d\ndef f():\n{LONG_BODY}"}, ["losses.py:1 size"], id="long function"),
        pytest.param({"losses.py": f"def f():\n{LONG_DOCSTRING}"}, ["losses.py:1 size"], id="long docstring"),
        pytest.param(
            {"compiled/a.c": "int a;\n\nstatic int f(void)\n{\n" + '    /* } */ g("{");\n' * 58 + "}\n"},
            ["compiled/a.c:3 size"],
            id="long C function",
        ),
        pytest.param(
            {"compiled/a.c": "int a;\n#define F(x) \\\n    int x(void) { \\\n" + "    g(); \\\n" * 60 + "    }\n"},
            ["compiled/a.c:2 size"],
            id="long function in a macro",
        ),
        pytest.param(
            {"losses.py": "", "kernels.py": "from unisvm.losses import _a\n"},
            ["kernels.py:1 private"],
            id="private name",
        ),
        pytest.param(
            {"losses.py": "", "kernels.py": "from unisvm import losses\n_a = losses._a\n"},
            ["kernels.py:2 private"],
            id="private attribute of a module",
        ),
        pytest.param({"kernels.py": "def f(x):\n    x._a()\n"}, ["kernels.py:2 private"], id="private attribute"),
        pytest.param(
            {"losses/_a.py": "", "kernels.py": "from unisvm.losses import _a\n"},
            ["kernels.py:1 private"],
            id="private module of another package",
        ),
        pytest.param(
            {"losses/base.py": "", "kernels.py": "import unisvm.losses.base\n_a = unisvm.losses.base._a\n"},
            ["kernels.py:2 private"],
            id="private attribute of a module by its path",
        ),
        pytest.param({"kernels.py": "from sklearn.svm import _a\n"}, ["kernels.py:1 private"], id="other package"),
        pytest.param(
            {"kernels.py": "from sklearn.svm._a import b\nimport scipy._a.b\n"},
            ["kernels.py:1 private", "kernels.py:2 private"],
            id="private module of another package's",
        ),
        pytest.param(
            {"kernels.py": "import numpy as np\n_a = np.b._a\n"},
            ["kernels.py:2 private"],
            id="other package's attribute",
        ),
        pytest.param(
            {"losses.py": "", "kernels.py": 'from unisvm import losses\n_a = getattr(losses.b, "_a")\n'},
            ["kernels.py:2 private"],
            id="getattr of a module",
        ),
        pytest.param({"io.py": "x.__dict__.update(a=0)\n"}, ["io.py:1 dict"], id="update"),
        pytest.param({"io.py": "x.__dict__['a'] = 0\n"}, ["io.py:1 dict"], id="entry"),
        pytest.param({"io.py": "x.__dict__ |= {}\n"}, ["io.py:1 dict"], id="assignment"),
        pytest.param({"io.py": "del vars(x)['a']\n"}, ["io.py:1 dict"], id="deletion"),
        pytest.param({"io.py": "def f():\n    import os\n"}, ["io.py:2 lazy"], id="lazy import"),
        pytest.param(
            {"io.py": "def f():\n    from sklearn.svm import SVC\n"},
            ["io.py:2 lazy"],
            id="lazy import of a quick module",
        ),
        pytest.param(
            {"io/__init__.py": ON_DEMAND, "__init__.py": ON_DEMAND.replace("__getattr__", "f")},
            ["__init__.py:3 lazy", "io/__init__.py:3 lazy"],
            id="import on demand elsewhere",
        ),
        pytest.param(
            {"io.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\n"},
            ["io.py:2 lazy"],
            id="type checking",
        ),
        pytest.param(
            {"io.py": "try:\n    import pyarrow\nexcept ValueError:\n    pass\n"},
            ["io.py:2 lazy"],
            id="try without ImportError",
        ),
        pytest.param({"io.py": "from . import a\n"}, ["io.py:1 import"], id="relative import"),
        pytest.param({"io.py": "import unisvm.rows\n"}, ["io.py:1 import"], id="missing module"),
        pytest.param(
            {"rows/a.py": "import unisvm.rows.b\n", "rows/b.py": "from unisvm.rows import a\n"},
            ["rows/a.py:1 cycle"],
            id="cycle",
        ),
        pytest.param(
            {"losses.py": "from unisvm import kernels\n", "kernels.py": ""}, ["losses.py:1 order"], id="wrong order"
        ),
        pytest.param({"other.py": ""}, ["other.py:1 order"], id="unknown part"),
    ],
)
def test_findings(tmp_path, files, expected):
    assert findings(tmp_path, files) == expected


@pytest.mark.parametrize(("rule", "line"), [(rule, line) for rule, lines in ONE_LINERS.items() for line in lines])
def test_one_line(tmp_path, rule, line):
    assert findings(tmp_path, {"io.py": f"{line}\n"}) == [f"io.py:1 {rule}"]


@pytest.mark.parametrize("suffix", [".pyx", ".pxd", ".cpp", ".cc", ".cxx", ".hpp", ".inc", ".pyi"])
def test_other_sources(tmp_path, suffix):
    assert findings(tmp_path, {f"a{suffix}": ""}) == [f"a{suffix}:1 size"]


@pytest.mark.parametrize("text", UNBALANCED)
def test_unbalanced_braces(tmp_path, text):
    assert findings(tmp_path, {"compiled/a.c": text}) == ["compiled/a.c:1 size"]


def test_allowed(tmp_path):
    files = {
        "__init__.py": ON_DEMAND + "from unisvm import losses\n",
        "io.py": "def f():\n    from sklearn.datasets import a\n",
        "_checks.py": "",
        "losses/__init__.py": "from unisvm.losses.base import Loss\n",
        "losses/base.py": "from unisvm._checks import a\nfrom unisvm.losses import _b\nclass Loss: ...\n",
        "losses/_b.py": "def f(x):\n    import pandas\n    return dict(vars(x)), x._replace(a=0)\n",
        "kernels.py": "class A:\n    def __init__(self):\n        self._a = 0\n\n\ndef f(a):\n"
        '    return a._a, a.__dict__, getattr(a, "_a"), getattr(a, "_score_func", 0), hasattr(a, "__dict__")\n',
        "rows.py": "try:\n    import pandas\nexcept ImportError:\n    pandas = None\n\n\ndef f(x, d):\n"
        "    d.update(vars(x))\n    e = d | vars(x)\n    e |= x.__dict__\n    for name in vars(x):\n"
        "        e = dict(vars(x)), vars(x)[name], name in vars(x)\n    return d.eval(e), vars(x)\n",
        "compiled/a.c": "struct a {\n    int b;\n};\n\n#define F() \\\n    {\nint b[] = {\n" + "    0,\n" * 70 + "};\n"
        "#define G" + " \\\n    0" * 70 + "\n",
    }
    assert findings(tmp_path, files) == []


def test_layers(tmp_path):
    findings(
        tmp_path, {"losses.py": "", "kernels.py": "import unisvm.losses\n", "engine.py": "import unisvm.kernels\n"}
    )
    assert run(tmp_path).stdout.split() == ["3", "engine", "2", "kernels", "1", "losses"]
    assert run(tmp_path, "--layers").stdout.split() == [
        "3",
        "engine",
        "kernels",
        "2",
        "kernels",
        "losses",
        "1",
        "losses",
    ]


def test_lines(tmp_path):
    files = {
        "losses.py": '"""Losses.\n\nMore.\n"""\n\n# why\nA = """\n\n"""  # here\n\n\n'
        'def f():\n    """0."""\n    return A\n',
        "compiled/a.c": "/* a\n   b */\nint a; /* c */\n\n// d\nint b;\n",
    }
    findings(tmp_path, files)
    counts = dict(line.rsplit(maxsplit=1) for line in run(tmp_path, "--lines").stdout.splitlines())
    assert counts == {"losses": "4", "compiled": "2", "Python": "4", "C": "2", "in all": "6"}
