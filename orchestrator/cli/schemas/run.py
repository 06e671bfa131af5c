"""Runs: their result, where they stand, what they cost, how they were judged, and one task of them."""

from typing import get_args

from orchestrator.cli.schemas.notation import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    document,
    dumped,
    joined,
    many,
    maybe,
    row,
    table,
    word_of,
    words,
)
from orchestrator.cli.schemas.parts import (
    AMOUNT,
    BAR,
    BUDGET,
    BURNDOWN,
    CRITERION,
    DIFFERENCE,
    FLAKY,
    GATE,
    PR,
    RECEIPT,
    TEXTS,
)
from orchestrator.domain.contract import IterationVerdict
from orchestrator.domain.event.run import Outcome
from orchestrator.domain.forge_check import ForgeCheck
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.domain.overstep import Overstep
from orchestrator.domain.state import TaskState
from orchestrator.domain.task import EndCause, TaskStatus
from orchestrator.domain.usage import Usage
from orchestrator.domain.verdict import VerdictKind
from orchestrator.report.glyphs import Doing

_WHY = many(row({"path": TEXT, "reason": TEXT}, signature=TEXT))
_FILES = row(
    {"changed": WHOLE, "landed": TEXTS, "rejected": _WHY},
    in_scope=WHOLE,
    unchanged=_WHY,
    needs_human=_WHY,
    skipped=_WHY,
    reverted=_WHY,
)
_SPENT = joined(
    AMOUNT,
    row({"possibly_billed_calls": WHOLE, "at_risk_usd": maybe(NUMBER), "at_risk_tokens": WHOLE, "wall_s": NUMBER}),
)
RESULT = row(
    {
        "run": TEXT,
        "mode": words("goal", "migration"),
        "unsafe": FLAG,
        "goal": TEXT,
        "outcome": words(*get_args(Outcome), "paused", "running"),
        "reason": TEXT,
        "exit": maybe(WHOLE),
        "base": TEXT,
        "pr_branch": TEXT,
        "head": maybe(TEXT),
        "iterations": WHOLE,
        "contract": many(CRITERION),
        "tasks": row({status.value: WHOLE for status in TaskStatus}),
        "causes": row({}, **{cause.value: WHOLE for cause in EndCause}),
        "files": _FILES,
        "gate": GATE,
        "flaky": many(FLAKY),
        "test_runs": WHOLE,
        "spent": _SPENT,
        "pr": maybe(PR),
        "checks": maybe(row({"commit": TEXT, "words": TEXT, "waiting": FLAG, "checks": many(dumped(ForgeCheck))})),
        "merged": maybe(row({"ref": TEXT, "commit": TEXT, "target": TEXT})),
        "prs": many(joined(PR, row({"group": TEXT, "branch": TEXT, "head": maybe(TEXT)}))),
        "attempted": many(dumped(Overstep)),
        "notices": TEXTS,
        "journal": TEXT,
    }
)
_PLANNED = row(
    {
        "id": TEXT,
        "parent": maybe(TEXT),
        "depth": WHOLE,
        "kind": words("leaf", "branch"),
        "title": TEXT,
        "status": word_of(TaskStatus),
        "reason": TEXT,
        "cause": maybe(word_of(EndCause)),
        "depends_on": TEXTS,
        "attempts": many(row({"number": WHOLE, "mode": TEXT, "model": TEXT})),
        "verdicts": many(row({"attempt": WHOLE, "kind": word_of(VerdictKind), "cause": maybe(TEXT)})),
        "calls": WHOLE,
        "tokens": WHOLE,
        "budget": BAR,
    }
)
_AGENT = row(
    {
        "kind": words("session", "task", "approval", "file", "shard", "step", "count"),
        "key": TEXT,
        "count": WHOLE,
        "id": TEXT,
        "state": word_of(Doing),
        **dict.fromkeys(("role", "task", "title", "branch", "model", "last"), TEXT),
        "turn": WHOLE,
        "tokens": WHOLE,
        **dict.fromkeys(("cost", "age"), maybe(NUMBER)),
        **dict.fromkeys(("added", "removed"), maybe(WHOLE)),
    }
)
_DISK = row({**dict.fromkeys(("journals", "blobs", "logs", "worktrees", "total"), WHOLE), "is_whole": FLAG})
STATUS = joined(
    RESULT,
    row(
        {
            "is_live": FLAG,
            "seq": WHOLE,
            "budget": BUDGET,
            "plan": many(_PLANNED),
            "file_status": row({}, **{status.value: WHOLE for status in FileStatus}),
            "steps": table(NUMBER),
            "trials": WHOLE,
            "landings": many(row({"commit": TEXT, "units": TEXTS})),
            "models": TEXTS,
            "disk": _DISK,
        },
        burndown=BURNDOWN,
        filter=TEXT,
        fleet=many(_AGENT),
        fleet_of=WHOLE,
    ),
)
_SHARED_COST = joined(AMOUNT, row({"share": NUMBER}))
_ENTRY = joined(_SHARED_COST, row({"name": TEXT, "at_risk": AMOUNT}))
COST = row(
    {
        "schema": {"const": "orchestrate.cost/1"},
        "run": TEXT,
        "share_of": words("usd", "tokens", "calls"),
        "total": AMOUNT,
        "at_risk": joined(AMOUNT, row({"possibly_billed_calls": WHOLE})),
        "reserved": AMOUNT,
        "budget": BUDGET,
        "tasks": many(
            joined(_ENTRY, row({"own": AMOUNT, "status": TEXT, "parent": maybe(TEXT), "depth": WHOLE})),
        ),
        "roles": many(_ENTRY),
        "models": many(_ENTRY),
        "attempts": many(joined(_ENTRY, row({"fate": TEXT}))),
        "wasted": _SHARED_COST,
        "waste": many(joined(_ENTRY, row({"count": WHOLE}))),
    }
)
_TASK = row(
    {
        "task": dumped(TaskState),
        "contract": many(CRITERION),
        "iterations": many(dumped(IterationVerdict)),
        "receipts": many(RECEIPT),
        "attempted": many(dumped(Overstep)),
        "spent": maybe(dumped(Usage)),
    }
)
_FILE = row({"file": dumped(FileRecord), "difference": maybe(DIFFERENCE), "receipts": many(RECEIPT)})
_LENS = row(
    {
        "lens": TEXT,
        "model": TEXT,
        **dict.fromkeys(("votes", "approvals", "unreadable", "undecided", "escaped", "false_vetoes"), WHOLE),
        "vetoes": table(WHOLE),
        "escapes": table(WHOLE),
        "escape_rate": maybe(NUMBER),
        "false_veto_rate": maybe(NUMBER),
        "spent": AMOUNT,
        "usd_per_vote": maybe(NUMBER),
    }
)
_JUDGING = row(
    {
        "runs": TEXTS,
        "task": maybe(TEXT),
        "least_basis": WHOLE,
        "lenses": many(_LENS),
        "verdicts": row({"kinds": table(WHOLE), "causes": table(WHOLE)}),
        "ends": many(row({"status": word_of(TaskStatus), "cause": maybe(word_of(EndCause)), "tasks": WHOLE})),
        "attempts": row({"per_merged_task": maybe(NUMBER), "merged_tasks": table(WHOLE)}),
        "receipts": row({"run": WHOLE, "reused": WHOLE, "seconds": NUMBER}),
        "flaky": many(FLAKY),
    }
)
_LANDING = row(
    {
        "number": WHOLE,
        "units": TEXTS,
        "recorded": maybe(TEXT),
        "replayed": maybe(TEXT),
        "same": FLAG,
        "same_commit": FLAG,
    }
)
_DIVERGENCE = row(
    {
        "seq": WHOLE,
        "what": TEXT,
        "diff": TEXTS,
        "session": maybe(TEXT),
        "turn": maybe(WHOLE),
        "role": maybe(TEXT),
        "task": maybe(TEXT),
    }
)
_CALL = row(
    {
        **dict.fromkeys(("seq", "turn"), WHOLE),
        **dict.fromkeys(("session", "task", "model", "recorded", "error"), TEXT),
        "new": maybe(TEXT),
        "same": FLAG,
        "first_difference": maybe(row({"at": TEXT, "recorded": ANY, "new": ANY})),
    }
)
_ASKED = row(
    {
        "role": TEXT,
        "models": TEXTS,
        "calls": many(_CALL),
        **dict.fromkeys(("same", "different", "failed"), WHOLE),
        "spent": row({"usd": maybe(NUMBER), "tokens": WHOLE, "calls": WHOLE}),
    }
)
_TWO = row({"recorded": TEXT, "replayed": TEXT})
_REPLAY = row(
    {
        "run": TEXT,
        "mode": words("goal", "migration"),
        "same": FLAG,
        "exit": WHOLE,
        "whole": FLAG,
        "requests": row({"same_bytes": WHOLE, "same_but_for_times": WHOLE, "different": WHOLE}),
        "landings": many(_LANDING),
        "final_tree": joined(_TWO, row({"same": FLAG})),
        "outcome": _TWO,
        "divergences": WHOLE,
        "first_divergence": maybe(_DIVERGENCE),
        "environment_same": FLAG,
        "prompts": TEXTS,
        "asked_again": maybe(_ASKED),
        "kept": maybe(TEXT),
    }
)

RUN = {
    **document("orchestrate.result/1", "run, resume, demo, migrate run, migrate resume", RESULT),
    **document(
        "orchestrate.error/1",
        "any of these, and plans and dry runs, that could not be begun",
        row({"outcome": {"const": "not-started"}, "error": TEXT, "exit": WHOLE}),
    ),
    **document(
        "orchestrate.started/1",
        "run, resume, migrate run with --detach",
        row({"outcome": {"const": "started"}, "run": TEXT, "journal": TEXT}),
    ),
    **document("orchestrate.status/1", "status, migrate status", STATUS),
    **document("orchestrate.cost/1", "cost", COST),
    **document("orchestrate.task/1", "show of a task", _TASK),
    **document("orchestrate.file/1", "show of a file of a migration", _FILE),
    **document("orchestrate.report/1", "report", _JUDGING),
    **document("orchestrate.replay/1", "replay", _REPLAY),
}
