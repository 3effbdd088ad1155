"""Run the paper's tables and figures and build docs/paper.md: a quick part, or all with --full, which takes hours."""

from __future__ import annotations

import argparse
import subprocess
import sys

BOTH = ("dca", "lbfgs")
#: (script, options); stored results are not measured again
QUICK = [
    ("figure_losses", []),
    ("figure_xor_convex", []),
    ("figure_sinc", []),
    ("figure_xor_robust", ["--trials", "3"]),
    ("figure_robust_sizes", ["--trials", "2", "--sizes", "400", "1000", "2000"]),
    *(
        ("tables_1_2", ["--solver", solver, "--trials", "1", "--libsvm", "0", "--sets", "adult", "shuttle"])
        for solver in BOTH
    ),
    *(("table_3", ["--solver", solver, "--trials", "3", "--sets", "cadata"]) for solver in BOTH),
]
FULL = [
    *((name, []) for name in ("figure_losses", "figure_xor_convex", "figure_sinc", "figure_xor_robust")),
    ("figure_robust_sizes", []),
    *((name, ["--solver", solver]) for name in ("tables_1_2", "table_3", "table_4") for solver in BOTH),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="every trial of everything")
    parser.add_argument("--quiet", type=int, default=0, metavar="N", help="as in the scripts")
    chosen = parser.parse_args()
    failed = []
    for script, settings in FULL if chosen.full else QUICK:
        print(f"\n{script} {' '.join(settings)}", flush=True)
        command = [sys.executable, "-m", f"paper.{script}", *settings, "--quiet", str(chosen.quiet)]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
    subprocess.run([sys.executable, "-m", "paper.page"], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
