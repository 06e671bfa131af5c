"""The trial of a proposal: which judged decisions are asked again, and what their new replies say of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.ids import RunId, SessionId
from orchestrator.retro.decisions import DecisionCause

TrialResult = Literal["better", "as-before", "fine", "worse", "unclear", "unreached"]
"""Of a bad decision: `better` or `as-before`. Of a healthy one: `fine` or `worse`. `unclear`: the reply shows nothing.
`unreached`: it could not be asked again.
"""
MAX_TRIED = 6
"""The most bad decisions of one proposal that are asked again, and the most healthy ones."""


@dataclass(frozen=True)
class TrialCall:
    """A call to make again: the turn of a session that decided.

    `cause` is what was wrong with it, None for a healthy one; `path` the file that it wrote, if that is what counts.
    """

    run: RunId
    session: SessionId
    turn: int
    seq: int
    cause: DecisionCause | None
    path: str = ""


@dataclass(frozen=True)
class TriedDecision:
    """A call that was made again, or could not be: `new` are the words of the new reply, empty without one."""

    call: TrialCall
    result: TrialResult
    recorded: str = ""
    new: str = ""


@dataclass(frozen=True)
class TrialConclusion:
    """The conclusion from all tried decisions together."""

    state: Literal["confirmed", "refused", "untried"]
    reason: str


def judge_trial(tried: Iterable[TriedDecision]) -> TrialConclusion:
    """Return what a trial says: confirmed only if every bad decision comes out better and no healthy one worse.

    Decisions that could not be asked again do not count.
    """
    bad: list[TriedDecision] = []
    healthy: list[TriedDecision] = []
    for one in tried:
        if one.result == "unreached":
            continue
        if one.call.cause is None:
            healthy.append(one)
        else:
            bad.append(one)
    better, worse = _count(bad, "better"), _count(healthy, "worse")
    said = f"{better} of {len(bad)} bad decisions come out better, {worse} of {len(healthy)} healthy ones worse"
    if not bad:
        return TrialConclusion("untried", "no reply alone shows what went wrong: only new runs can tell")
    if not healthy:
        return TrialConclusion("untried", f"{said}: without a healthy decision nothing tells what else would change")
    if better == len(bad) and not worse:
        return TrialConclusion("confirmed", said)
    return TrialConclusion("refused", said)


def _count(tried: Sequence[TriedDecision], result: TrialResult) -> int:
    return sum(one.result == result for one in tried)
