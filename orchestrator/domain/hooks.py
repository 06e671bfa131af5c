"""Lifecycle hooks: which of them a point of a run calls for, and what the answer of one means. Pure."""

import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import is_glob, matches_glob
from orchestrator.domain.text.encoding import decode_json

HookScope = Literal["run", "turn", "tool", "attempt", "verdict", "landing"]
_SessionPoint = Literal["before_run", "after_run", "before_turn", "after_turn", "before_tool", "after_tool"]
_AttemptPoint = Literal["before_attempt", "after_attempt", "before_verdict", "after_verdict"]
HookPoint = Literal[_SessionPoint, _AttemptPoint, "before_landing", "after_landing"]
HookDecision = Literal["allow", "veto", "stop", "failed"]

VETO_EXIT_CODE = 2
REASON_CHARS = 2_000
RUN_END_OCCURRENCE = "end"
"""The one occurrence of the end of a run."""
_WITHOUT_PATHS = frozenset({"before_run", "after_run", "before_turn", "after_turn", "before_attempt"})


def _wrap_text(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return value


GlobList = Annotated[tuple[str, ...], BeforeValidator(_wrap_text)]


class HookMatch(FrozenModel):
    """The limits of a hook: globs, of which one must fit; empty fits everything. All that are given must fit."""

    tool: GlobList = ()
    task: GlobList = ()
    path: GlobList = ()

    @model_validator(mode="after")
    def _check_globs(self) -> "HookMatch":
        for glob in (*self.tool, *self.task, *self.path):
            if not is_glob(glob):
                raise ValueError(f"{glob!r} is no glob")
        return self


class Hook(FrozenModel):
    """One `[[hooks]]` table. `on_error` None means: veto at before_* points, ignore at after_* points."""

    on: Annotated[tuple[HookPoint, ...], BeforeValidator(_wrap_text), Field(min_length=1)]
    run: Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
    match: HookMatch = HookMatch()
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    trusted: bool = False
    on_error: Literal["veto", "ignore"] | None = None

    @model_validator(mode="after")
    def _check_points(self) -> "Hook":
        for point in self.on:
            if self.match.tool and not point.endswith("_tool"):
                raise ValueError(f"match.tool can only be given for before_tool and after_tool, not for {point}")
            if self.match.task and point.endswith("_run"):
                raise ValueError(f"match.task cannot be given for {point}, which belongs to no task")
            if self.match.path and point in _WITHOUT_PATHS:
                raise ValueError(f"match.path cannot be given for {point}, which knows no paths")
            if self.on_error == "veto" and point.startswith("after_"):
                raise ValueError(f"on_error = 'veto' cannot be given for {point}: what has happened cannot be vetoed")
        return self

    def vetoes_on_error(self, point: HookPoint) -> bool:
        """Return True if a failure of the hook itself counts as its veto."""
        return point.startswith("before_") and self.on_error != "ignore"


class HookAnswer(FrozenModel):
    """The result of one run of a hook. `failed` is a failure that counts as nothing."""

    decision: HookDecision
    reason: str = ""


def is_hook_applicable(hook: Hook, point: HookPoint, tasks: Iterable[str], tool: str, paths: Iterable[str]) -> bool:
    """Return True if a hook is to run at a point about these tasks, this tool (empty for none) and these paths."""
    match = hook.match
    return (
        point in hook.on
        and (not match.tool or any(fnmatchcase(tool, glob) for glob in match.tool))
        and (not match.task or _matches_any(match.task, tasks))
        and (not match.path or _matches_any(match.path, paths))
    )


def _matches_any(globs: Sequence[str], names: Iterable[str]) -> bool:
    return any(matches_glob(glob, name) for glob, name in product(globs, names))


def parse_hook_answer(
    hook: Hook, point: HookPoint, exit_code: int | None, trouble: str, stdout: str, stderr: str
) -> HookAnswer:
    """Return the answer that a hook gives by its exit code and output.

    Args:
        hook: the hook that ran.
        point: where.
        exit_code: None if it did not exit by itself.
        trouble: in words, why it did not.
        stdout: its standard output, on which it may answer in JSON.
        stderr: its standard error, the reason where it vetoes by exit code.
    """
    if exit_code == VETO_EXIT_CODE:
        return HookAnswer(decision="veto", reason=_find_reason(stderr, stdout) or "it gave no reason")
    if exit_code != 0:
        cause = trouble or f"exit code {exit_code}"
        if reason := _find_reason(stderr, stdout):
            cause = f"{cause}: {reason}"
        return _build_failure(hook, point, f"it failed ({cause})")
    answer = _parse_object(stdout)
    if answer is None or "decision" not in answer:
        return HookAnswer(decision="allow")
    decision = answer["decision"]
    if decision in ("allow", "veto", "stop"):
        reason = answer.get("reason") or ("" if decision == "allow" else "it gave no reason")
        return HookAnswer(decision=decision, reason=str(reason)[:REASON_CHARS])
    answered = f'it answered "decision": {json.dumps(decision)}, which is none of allow, veto, stop'
    return _build_failure(hook, point, answered)


def _build_failure(hook: Hook, point: HookPoint, reason: str) -> HookAnswer:
    return HookAnswer(decision="veto" if hook.vetoes_on_error(point) else "failed", reason=reason[:REASON_CHARS])


def _find_reason(*texts: str) -> str:
    return next((text.strip()[-REASON_CHARS:] for text in texts if text.strip()), "")


def _parse_object(text: str) -> dict[str, Any] | None:
    try:
        value = decode_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
