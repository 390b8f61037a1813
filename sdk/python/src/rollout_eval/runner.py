from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calls import AggregateSource, Call, EvalSource, TaskSource
from .context import Context
from .experiment import Experiment
from .messages import DiscoverResult
from .params import ParamError, suggest


class CommandError(ValueError):
    """A command that cannot be carried out as it stands."""


class Runner:
    """Turns commands into calls of an experiment's functions; what both executors share."""

    def __init__(self, experiment: Experiment) -> None:
        experiment.check()
        self.experiment = experiment
        #: Off where every evaluation tells its run.
        self.remembers_runs = True
        self._task = experiment.task
        self._params: dict[str, Any] = {}
        self._runs: dict[str, str | None] = {}

    def discover(self) -> DiscoverResult:
        found = self.experiment
        task = found.task.name if found.task else None
        return DiscoverResult(
            name=found.name or task,
            description=found.description,
            task=task,
            evaluators=list(found.evaluators),
            params=found.params.defaults,
            aggregates=list(found.aggregates),
        )

    def init(self, max_workers: object, params: object) -> None:
        """Takes the params of a run; raises `ParamError` or `CommandError` when they cannot be used."""
        if not isinstance(max_workers, int) or isinstance(max_workers, bool) or max_workers < 1:
            raise CommandError(f"max_workers is a whole number from 1, not {max_workers!r}")
        given = _mapping(params, "params")
        try:
            self.experiment.params.check(given)
            self.experiment.params.build(given)
        except ParamError as error:
            raise CommandError(str(error)) from None
        self._params = dict(given)

    def task_call(self, request: object, request_id: object = None) -> Call:
        raw = _mapping(request, "input")
        if self._task is None:
            raise CommandError("this experiment has no task")
        example_id = str(raw.get("id", ""))
        given = raw.get("run_id")
        run_id = example_id if given is None else str(given)
        if self.remembers_runs and given is not None:
            known = self._runs.setdefault(example_id, run_id)
            if known != run_id:
                self._runs[example_id] = None
        source = TaskSource(raw, Context(run_id, example_id))
        return Call(self._task, source, _head(request_id, run_id=run_id), *self._params_of(raw))

    def eval_calls(
        self, request: object, names: list[str] | None = None, request_id: object = None
    ) -> list[Call | dict[str, Any]]:
        """One call for each evaluator; for one that is not there, the answer that says so."""
        raw = _mapping(request, "input")
        example = _mapping(raw.get("example"), "input.example")
        run_id = self._run_id_of(raw, example)
        if names is None:
            names = list(self.experiment.evaluators)
        if not names:
            raise CommandError("there is no evaluator to run")
        return [self._eval_call(raw, example, run_id, name, request_id) for name in names]

    def _eval_call(
        self, raw: Mapping[str, Any], example: Mapping[str, Any], run_id: str, name: str, request_id: object
    ) -> Call | dict[str, Any]:
        head = _head(request_id, run_id=run_id, evaluator=name)
        function = self.experiment.evaluators.get(name)
        if function is None:
            error = f'unknown evaluator "{name}"{suggest(str(name), self.experiment.evaluators)}'
            return {**head, "score": None, "label": None, "metadata": None, "error": error}
        source = EvalSource(raw, Context(run_id, str(example.get("id", ""))))
        return Call(function, source, head, *self._params_of(raw))

    def aggregate_call(self, name: object, request: object, request_id: object = None) -> Call:
        raw = _mapping(request, "input")
        function = self.experiment.aggregates.get(str(name))
        if function is None:
            raise CommandError(f'unknown aggregate "{name}"{suggest(str(name), self.experiment.aggregates)}')
        if not isinstance(raw.get("results_path"), str):
            raise CommandError("input.results_path is missing")
        source = AggregateSource(raw, Context(None))
        return Call(function, source, _head(request_id, aggregate=function.name), *self._params_of(raw))

    def _run_id_of(self, raw: Mapping[str, Any], example: Mapping[str, Any]) -> str:
        example_id = str(example.get("id", ""))
        for run_id in (raw.get("run_id"), example.get("run_id"), self._runs.get(example_id)):
            if run_id:
                return str(run_id)
        return example_id

    def _params_of(self, raw: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        own = raw.get("params")
        if not own or own == self._params:
            return self.experiment.params, self._params
        return self.experiment.params, {**self._params, **_mapping(own, "input.params")}


def _head(request_id: object, **names: str) -> dict[str, Any]:
    return dict(names) if request_id is None else {"id": request_id, **names}


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if type(value) is dict:
        return value
    if value is None and name == "params":
        return {}
    if not isinstance(value, Mapping):
        raise CommandError(f"{name} is missing" if value is None else f"{name} is no object")
    return value
