from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunRecord:
    """One run of an experiment that has ended."""

    run_id: str
    example: dict[str, Any]
    output: Any
    error: str | None
    metadata: dict[str, Any]
    #: By the evaluator's name: `score`, `label`, `explanation`, `metadata`, `error`.
    evaluations: dict[str, dict[str, Any]]

    def score(self, evaluator: str) -> float | None:
        """What an evaluator gave this run; None when it gave nothing."""
        score = self.evaluations.get(evaluator, {}).get("score")
        return None if score is None else float(score)


class Results:
    """The runs of an experiment, as the parameter `results`; read from their file each time, so any number fits."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[RunRecord]:
        with open(self.path, encoding="utf-8") as lines:
            for line in lines:
                if line.strip():
                    yield _read_record(json.loads(line))

    def __len__(self) -> int:
        with open(self.path, "rb") as lines:
            return sum(1 for line in lines if line.strip())

    def scores(self, evaluator: str) -> list[float]:
        """What an evaluator gave, without the runs that it gave nothing."""
        return [score for record in self if (score := record.score(evaluator)) is not None]


def _read_record(line: Mapping[str, Any]) -> RunRecord:
    return RunRecord(
        run_id=str(line.get("run_id", "")),
        example=line.get("example") or {},
        output=line.get("actual_output"),
        error=line.get("error"),
        metadata=line.get("metadata") or {},
        evaluations=_read_evaluations(line.get("evaluations") or []),
    )


def _read_evaluations(found: Any) -> dict[str, dict[str, Any]]:
    if isinstance(found, Mapping):
        return {name: value if isinstance(value, dict) else {"score": value} for name, value in found.items()}
    return {str(item.get("evaluator", item.get("evaluator_name", ""))): item for item in found}
