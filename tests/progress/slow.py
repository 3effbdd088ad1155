"""Fits that take as long as a test wants, in this process or one of their own."""

import threading
from time import sleep

from sklearn.datasets import make_moons

from unisvm import UniSVMClassifier
from unisvm.progress import IterationEnds, display, listen
from unisvm.solvers import LBFGS

X, y = make_moons(150, noise=0.2, random_state=0)


class SlowLBFGS:
    """The default solver with a pause after each step."""

    def __init__(self, seconds):
        self.seconds = seconds

    def begin(self, objective, majoriser, start):
        iteration = LBFGS().begin(objective, majoriser, start)
        step = iteration.step

        def slow_step():
            step()
            sleep(self.seconds)

        iteration.step = slow_step
        return iteration


class SlowToStart(SlowLBFGS):
    """The default solver with a pause before its first step."""

    def begin(self, objective, majoriser, start):
        sleep(self.seconds)
        return LBFGS().begin(objective, majoriser, start)


def impatient():
    """Have displays show what takes a fraction of a second."""
    display._SECONDS_BEFORE = 0.2
    display._SECONDS_BETWEEN_UPDATES = 0.02
    display._SECONDS_BETWEEN_LINES = 0.1


def model(seconds=0.02, verbose=1, solver=SlowLBFGS, **options):
    """A model whose fit takes about a second."""
    return UniSVMClassifier(
        "hinge", C=10.0, rank=40, tol=1e-6, solver=solver(seconds), verbose=verbose, random_state=0, **options
    )


def fit_and_say_how_it_ended(fail_at=None):
    """Fit, and print the exception that ended it and the threads of displays that are left."""

    def listener(event):
        if isinstance(event, IterationEnds) and event.number == fail_at:
            raise RuntimeError

    try:
        with listen(listener):
            model(0.04).fit(X, y)
    except (KeyboardInterrupt, RuntimeError) as error:
        left = [thread.name for thread in threading.enumerate() if thread.name == "unisvm-progress"]
        print("ended by", type(error).__name__, left)


def two_fits_at_the_same_time():
    """Fit twice in threads."""
    fits = [threading.Thread(target=model().fit, args=(X, y)) for _ in range(2)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
