from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType

from .experiment import Experiment, ExperimentError, swap_current


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Runs a Python file and returns what it registered; whatever the file raises is raised."""
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        raise ExperimentError(f"there is no file {os.fspath(path)}")
    stem = os.path.splitext(os.path.basename(file))[0]
    loaded = Experiment()
    before = swap_current(loaded)
    try:
        module = _run_file(file, stem)
    finally:
        swap_current(before)
    loaded.check()
    loaded.name = loaded.name or stem
    if loaded.description is None and module.__doc__:
        loaded.description = module.__doc__.strip().split("\n\n")[0]
    return loaded


def _run_file(file: str, stem: str) -> ModuleType:
    # As `python FILE` has it: what lies beside the file can be imported, also by processes it starts.
    directory = os.path.dirname(file)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    name = stem if stem.isidentifier() and stem not in sys.modules else f"rollout_experiment_{abs(hash(file))}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ExperimentError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
