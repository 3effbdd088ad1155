"""Run the comparison and write its report.

python -m peers                     everything, which takes hours
python -m peers --tasks a9a ijcnn1  a part of it; other results are kept
python -m peers --report            only write the report again
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.progress import Progress

from peers import report
from peers.jobs import Job, every_job
from peers.machine import describe
from peers.worker import READY
from results import SUFFIX, load, save

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def run(job: Job, threads: int, limit: float) -> dict:
    """Result of one job in its own process, or the reason why there is none."""
    environment = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TBB_NUM_THREADS"):
        environment[name] = str(threads)
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")])
    text = json.dumps({"task": job.task, "system": job.system, "options": job.options})
    command = [sys.executable, "-m", "peers.worker", text]
    if shutil.which("taskset"):
        processors = sorted(os.sched_getaffinity(0))[:threads]
        command = ["taskset", "--cpu-list", ",".join(map(str, processors)), *command]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        # loading and warming up do not count; some libraries print meanwhile
        said = list(itertools.takewhile(lambda line: line.strip() != READY, process.stdout))
        try:
            said += process.communicate(timeout=limit)[0].splitlines()
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return {"stopped_after": limit}
        if process.returncode:
            errors.seek(0)
            return {"skipped": "failed: " + (errors.read().strip().splitlines() or [f"exit {process.returncode}"])[-1]}
    return json.loads(said[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="*", help="only these data sets")
    parser.add_argument("--systems", nargs="*", help="only these systems")
    parser.add_argument("--parts", nargs="*", help="only these parts: main, rank, rows, losses")
    parser.add_argument("--repeats", type=int, help="most repeats")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=1800, help="seconds of fitting after which a run is stopped")
    parser.add_argument("--report", action="store_true", help="run nothing, write the report again")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    if not options.report and not os.environ.get("UNISVM_DATA"):
        parser.error("set UNISVM_DATA to the folder with the data sets")

    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"results{SUFFIX}"
    before = load(path, {"machine": None, "results": []})
    if options.report:
        if not before["results"]:
            parser.error(f"there are no results in {path}: run without --report first")
        report.write(options.folder, before["machine"], before["results"])
        return
    machine = describe(options.threads)
    chosen = [
        job
        for job in every_job()
        if (not options.tasks or job.task in options.tasks)
        and (not options.systems or job.system in options.systems)
        and (not options.parts or job.part in options.parts)
    ]
    # results of jobs that are not run again stay, unless the job no longer exists
    stays = [(job.task, job.system, job.options) for job in every_job() if job not in chosen]
    results = [old for old in before["results"] if (old["task"], old["system"], old["options"]) in stays]
    rounds = max((job.repeats for job in chosen), default=0)
    # repeats are the outer loop, so that a slow hour of the machine affects all systems alike
    runs = [
        (job, repeat)
        for repeat in range(min(rounds, options.repeats or rounds))
        for job in chosen
        if repeat < job.repeats
    ]
    hopeless = set()
    with Progress() as progress:
        bar = progress.add_task("", total=len(runs))
        for job, repeat in runs:
            key = (job.task, job.system, str(job.options))
            progress.update(bar, description=f"{job.task} {job.system} {job.options or ''}")
            if key not in hopeless:
                result = run(job, options.threads, options.limit)
                if "fit_seconds" not in result:
                    hopeless.add(key)
                results.append(
                    {"task": job.task, "system": job.system, "options": job.options, "part": job.part, "repeat": repeat}
                    | result
                )
                save(path, {"machine": machine, "results": results})
                said = f"{result['fit_seconds']:.2f} s" if "fit_seconds" in result else str(result)
                progress.console.print(
                    f"{job.task:<14}{job.system:<20}{job.options or ''!s:<44}{said}", highlight=False
                )
            progress.advance(bar)
    report.write(options.folder, machine, results)


if __name__ == "__main__":
    main()
