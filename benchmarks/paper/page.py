"""Build docs/paper.md from the sections in docs/paper. Run: PYTHONPATH=benchmarks python -m paper.page"""

from __future__ import annotations

from pathlib import Path

from paper.common import FOLDER
from results import SUFFIX, load

#: sections in the order of the paper
ORDER = (
    "figure_losses",
    "figure_xor_convex",
    "figure_sinc",
    "figure_xor_robust",
    "figure_robust_sizes",
    "tables_1_2_dca",
    "tables_1_2_lbfgs",
    "table_3_dca",
    "table_3_lbfgs",
    "table_4_dca",
    "table_4_lbfgs",
)


def build(folder: Path) -> str:
    """The page, of the sections that are there."""
    parts = [
        "# The paper, reproduced",
        'The figures and tables of Zhou and Zhou, "Unified SVM Algorithm Based on LS-DC Loss", with published figures '
        "next to ours. `make paper` runs a quick part, and `make paper-full` runs all. Every section is written by the "
        "script of its name under `benchmarks/paper/`. `--solver dca` is the paper's Algorithm 1 with greedily pivoted "
        "landmarks and its stopping rule; `lbfgs` is the library's default.",
    ]
    machines = [load(path)["machine"] for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if any(machines):
        used = " and ".join(sorted({machine["processor"] for machine in machines if machine}))
        parts.append(
            f"Measured on {used}, with one or two threads, partly while other work was running: ratios of times within "
            "a table are more reliable than the seconds themselves."
        )
    for name in ORDER:
        path = folder / f"{name}.md"
        if path.exists():
            # pictures are in the folder, the page is next to it
            parts.append(path.read_text().strip().replace("](", f"]({folder.name}/"))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    page = FOLDER.parent / "paper.md"
    page.write_text(build(FOLDER))
    print(f"wrote {page}")


if __name__ == "__main__":
    main()
