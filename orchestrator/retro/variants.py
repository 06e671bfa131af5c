"""Compare the worker's variants with the usual worker, and propose settings where one lands far more."""

from collections.abc import Iterable, Sequence

from orchestrator.config.roles import WorkerSettings
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId, TaskId
from orchestrator.retro.decisions import JudgedDecision
from orchestrator.retro.findings import LEAST_RUNS, LEAST_TASKS
from orchestrator.retro.rates import bound_rate


class VariantRecord(FrozenModel):
    """The first attempts of one variant at tasks: how many there were, in how many runs, and how many landed."""

    variant: str
    tasks: int
    runs: int
    landed: int

    @property
    def is_enough(self) -> bool:
        """True if there are enough of them to compare."""
        return self.tasks >= LEAST_TASKS and self.runs >= LEAST_RUNS


class SettingChange(FrozenModel):
    """A proposed change of one key of the configuration, as TOML values, with the records that speak for it."""

    key: str
    old: str
    new: str
    usual: VariantRecord
    better: VariantRecord


def propose_settings(decisions: Iterable[JudgedDecision], worker: WorkerSettings) -> Sequence[SettingChange]:
    """Return the proposed change of the worker's settings; nothing unless a variant is better beyond doubt.

    The one that lands most becomes the first rung of `escalate_to`, or the usual model where it is one already.
    """
    records = _collect_records(decisions)
    usual = records.pop("", None)
    if usual is None or not usual.is_enough:
        return ()
    ceiling = bound_rate(usual.landed, usual.tasks).high
    better = []
    for record in records.values():
        is_known = record.variant in worker.variants
        if is_known and record.is_enough and bound_rate(record.landed, record.tasks).low > ceiling:
            better.append(record)
    if not better:
        return ()
    best = max(better, key=lambda record: (record.landed / record.tasks, record.tasks))
    return (_build_change(usual, best, worker),)


def _build_change(usual: VariantRecord, best: VariantRecord, worker: WorkerSettings) -> SettingChange:
    rungs = worker.escalate_to
    if best.variant in rungs:
        key, old, new = "roles.worker.model", f'"{worker.model}"', f'"{worker.variants[best.variant].model}"'
    else:
        key, old, new = "roles.worker.escalate_to", _format_names(rungs), _format_names((best.variant, *rungs))
    return SettingChange(key=key, old=old, new=new, usual=usual, better=best)


def _format_names(names: Sequence[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"[{quoted}]"


def _collect_records(decisions: Iterable[JudgedDecision]) -> dict[str, VariantRecord]:
    """Return the records by variant, `""` for the usual worker; of each task the first attempt of a variant counts."""
    first: dict[tuple[str, RunId, TaskId], JudgedDecision] = {}
    for decision in decisions:
        if decision.use.role == "worker" and decision.outcome != "open":
            first.setdefault((decision.variant or "", decision.run, decision.task), decision)
    groups: dict[str, list[JudgedDecision]] = {}
    for (variant, _, _), decision in first.items():
        groups.setdefault(variant, []).append(decision)
    records = {}
    for variant, own in groups.items():
        landed = sum(decision.outcome == "landed" for decision in own)
        runs = {decision.run for decision in own}
        records[variant] = VariantRecord(variant=variant, tasks=len(own), runs=len(runs), landed=landed)
    return records
