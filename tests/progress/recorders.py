"""Callbacks as a user would write them, in a module of their own, which other processes can import."""


class Recorder:
    """A user's callback: notes what it is told, and answers with what `stop` says of a task's name and number."""

    def __init__(self, stop=None, fail_at=None):
        self.stop, self.fail_at = stop, fail_at
        self.begun, self.ended, self.scores, self.calls = [], [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.begun.append((context.task_name, X is not None, metadata))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if context.task_name == self.fail_at:
            raise RuntimeError("it fails here")
        if hasattr(fitted_estimator, "score"):
            self.scores.append(fitted_estimator.score(X, y))
        return self.stop is not None and self.stop(context.task_name, self.ended.count(context.task_name))


class PropagatedRecorder(Recorder):
    """One that meta-estimators hand on."""

    max_propagation_depth = None
