"""Experiments in Python: a task and its evaluators, driven by an orchestrator over JSON lines or in this process."""

from .context import Cancelled, Context
from .executor import Executor
from .experiment import Experiment, ExperimentError, aggregate, evaluator, experiment, task
from .function import SignatureError
from .in_process import InProcessExecutor
from .load_experiment import load_experiment
from .messages import (
    AggregateResult,
    DiscoverResult,
    EvalInput,
    EvalResult,
    Example,
    InitRequest,
    InitResult,
    ShutdownResult,
    TaskInput,
    TaskOutput,
    TaskResult,
)
from .params import ParamError
from .results import Results, RunRecord
from .runner import CommandError

__all__ = [
    "AggregateResult",
    "Cancelled",
    "CommandError",
    "Context",
    "DiscoverResult",
    "EvalInput",
    "EvalResult",
    "Example",
    "Executor",
    "Experiment",
    "ExperimentError",
    "InProcessExecutor",
    "InitRequest",
    "InitResult",
    "ParamError",
    "Results",
    "RunRecord",
    "ShutdownResult",
    "SignatureError",
    "TaskInput",
    "TaskOutput",
    "TaskResult",
    "aggregate",
    "evaluator",
    "experiment",
    "load_experiment",
    "task",
]
