"""The benchmark against the peers: its jobs, its claims and its report, on small real runs."""

import pytest

from peers import report
from peers.__main__ import run
from peers.jobs import LEFT_OUT, MAIN, Job, every_job
from peers.systems import SYSTEMS, System
from peers.targets import CLAIMS, Claim, Table
from peers.tasks import TASKS
from peers.worker import measure
from results import load, save

SMALL = {"rank": 60}


def test_every_job_is_possible_and_there_once():
    jobs = every_job()
    keys = [(job.task, job.system, str(job.options)) for job in jobs]
    assert len(set(keys)) == len(keys)
    for job in jobs:
        assert TASKS[job.task].kind in SYSTEMS[job.system].kinds
    # what is left out has a reason, and everything else is run
    run_in_main = {(job.system, job.task) for job in jobs if job.part == "main"}
    assert not run_in_main & set(LEFT_OUT)
    for task in MAIN:
        for name, system in SYSTEMS.items():
            if TASKS[task].kind in system.kinds:
                assert (name, task) in run_in_main or LEFT_OUT[name, task]


def test_one_measurement():
    result = measure("board-30k", "unisvm", dict(SMALL))
    assert result["accuracy"] > 90
    assert 0 < result["fit_seconds"] < 60
    assert result["n_rows"] == 30_000
    assert result["rank"] == 60
    assert result["stationarity"] < 1e-4
    assert result["peak_megabytes"] >= result["before_megabytes"] > 10


def test_double_precision_takes_more_memory():
    single, double = (
        run(Job("board-30k", "unisvm", SMALL | {"dtype": dtype}), 1, 120) for dtype in ("float32", "float64")
    )
    extra = 30_000 * 60 * 4 / 2**20
    assert double["peak_megabytes"] > single["peak_megabytes"] + 0.5 * extra


def test_a_run_that_takes_too_long_is_stopped():
    assert run(Job("board-3M", "unisvm"), 1, 0.5) == {"stopped_after": 0.5}


def test_a_run_that_fails_says_why():
    assert "no_such_loss" in run(Job("board-30k", "unisvm", {"loss": "no_such_loss"}), 1, 120)["skipped"]


def test_a_peer_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(SYSTEMS, "absent", System(SYSTEMS["unisvm"].make, ("classification",), "no_such_package"))
    assert "no_such_package cannot be imported" in measure("board-30k", "absent", {})["skipped"]


def result(task, system, seconds, accuracy=90.0, repeat=0, **options):
    return {
        "task": task,
        "system": system,
        "options": options,
        "part": "main",
        "repeat": repeat,
        "fit_seconds": seconds,
        "predict_seconds": seconds / 10,
        "accuracy": accuracy,
        "peak_megabytes": 100.0,
        "before_megabytes": 50.0,
        "n_rows": 1000,
        "n_test": 100,
    }


def test_claims_are_worked_out_from_medians():
    results = [result("a9a", "unisvm", seconds, 85.0) for seconds in (1.0, 2.0, 50.0)]
    results += [result("a9a", "sklearn-svm", 100.0, 84.0), result("a9a", "intelex-svm", 8.0, 84.9)]
    checked = {claim.text: claim.check(Table(results)) for claim in CLAIMS}
    assert checked["a9a, fit against scikit-learn's SVC"] == (pytest.approx(50.0), "**no**")
    assert checked["a9a, accuracy above SVC's"] == (pytest.approx(1.0), "yes")
    assert checked["a9a, fit against intelex SVC"] == (pytest.approx(4.0), "**no**")
    figure, holds = checked["mnist, fit against scikit-learn's SVC"]
    assert figure is None
    assert holds == "not measured: sklearn-svm on mnist"


def test_claims_from_above():
    claim = Claim("memory", 6.0, lambda table: table.get("peak_megabytes", "a9a", "unisvm"), at_least=False)
    assert claim.check(Table([result("a9a", "unisvm", 1.0)])) == (100.0, "**no**")


def test_report_is_written(tmp_path):
    machine = {
        "processor": "P",
        "processors": 2,
        "threads": 2,
        "memory_gigabytes": 1.0,
        "python": "3",
        "versions": {"numpy": "2", "scikit-learn": "1", "unisvm": "0", "falkon": None},
        "rates": {"gigaflops": 1.0, "exp_nanoseconds": 1.0, "read_gigabytes_per_second": 1.0},
    }
    results = [result("a9a", "unisvm", 1.0) | {"rank": 9, "sweeps": 8, "stationarity": 1e-5}]
    results += [result("a9a", "sklearn-svm", 100.0), result("board-30k", "unisvm", 1.0)]
    results.append({"task": "a9a", "system": "falkon", "options": {}, "part": "main", "skipped": "not there"})
    report.write(tmp_path, machine, results)
    text = (tmp_path / "README.md").read_text()
    assert "| a9a, fit against scikit-learn's SVC | ≥ 60× | 100× | yes |" in text
    assert "| unisvm | 1 | 0.1 | 90.00 | 100 | 9 | 8 | 1.0e-05 | 1 |" in text
    assert "falkon: not there (a9a)" in text
    for picture in ("accuracy.png", "growth.png"):
        assert (tmp_path / picture).stat().st_size > 10_000


def test_results_are_kept_in_their_order_and_in_equal_files(tmp_path):
    path, other = tmp_path / "results.json.gz", tmp_path / "other.json.gz"
    assert load(path, {"results": []}) == {"results": []}
    results = [result("letter", "unisvm", seconds, rank=9, gamma=0.5) for seconds in (1 / 3, 1e-9)]
    for kept in (path, other):
        save(kept, {"results": results, "machine": {}})
    assert load(path) == {"results": results, "machine": {}}
    assert list(load(path)["results"][0]["options"]) == ["rank", "gamma"]
    assert path.read_bytes() == other.read_bytes()
    assert sorted(tmp_path.iterdir()) == [other, path]
