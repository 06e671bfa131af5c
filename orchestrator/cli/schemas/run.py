"""Runs: their result, where they stand, what they cost, how they were judged, and one task of them."""

from typing import get_args

from orchestrator.cli.schemas.notation import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    list_of,
    merge_objects,
    name_schema,
    object_of,
    one_of,
    one_of_enum,
    or_null,
    schema_of_model,
    table_of,
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
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event.run import RunOutcome
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.sandbox.policy_violation import PolicyViolation
from orchestrator.report.rows.activity import Activity

_WHY = list_of(object_of({"path": TEXT, "reason": TEXT}, signature=TEXT))
_FILES = object_of(
    {"changed": WHOLE, "landed": TEXTS, "rejected": _WHY},
    in_scope=WHOLE,
    unchanged=_WHY,
    needs_human=_WHY,
    skipped=_WHY,
    reverted=_WHY,
)
_SPENT = merge_objects(
    AMOUNT,
    object_of(
        {"possibly_billed_calls": WHOLE, "at_risk_usd": or_null(NUMBER), "at_risk_tokens": WHOLE, "wall_s": NUMBER}
    ),
)
RESULT = object_of(
    {
        "run": TEXT,
        "mode": one_of("goal", "migration"),
        "unsafe": FLAG,
        "goal": TEXT,
        "outcome": one_of(*get_args(RunOutcome), "paused", "running"),
        "reason": TEXT,
        "exit": or_null(WHOLE),
        "base": TEXT,
        "pr_branch": TEXT,
        "head": or_null(TEXT),
        "iterations": WHOLE,
        "contract": list_of(CRITERION),
        "tasks": object_of({status.value: WHOLE for status in TaskStatus}),
        "causes": object_of({}, **{cause.value: WHOLE for cause in EndCause}),
        "files": _FILES,
        "gate": GATE,
        "flaky": list_of(FLAKY),
        "test_runs": WHOLE,
        "spent": _SPENT,
        "pr": or_null(PR),
        "checks": or_null(
            object_of({"commit": TEXT, "words": TEXT, "waiting": FLAG, "checks": list_of(schema_of_model(ForgeCheck))})
        ),
        "merged": or_null(object_of({"ref": TEXT, "commit": TEXT, "target": TEXT})),
        "prs": list_of(merge_objects(PR, object_of({"group": TEXT, "branch": TEXT, "head": or_null(TEXT)}))),
        "attempted": list_of(schema_of_model(PolicyViolation)),
        "notices": TEXTS,
        "journal": TEXT,
    }
)
_PLANNED = object_of(
    {
        "id": TEXT,
        "parent": or_null(TEXT),
        "depth": WHOLE,
        "kind": one_of("leaf", "branch"),
        "title": TEXT,
        "status": one_of_enum(TaskStatus),
        "reason": TEXT,
        "cause": or_null(one_of_enum(EndCause)),
        "depends_on": TEXTS,
        "attempts": list_of(object_of({"number": WHOLE, "mode": TEXT, "model": TEXT})),
        "verdicts": list_of(object_of({"attempt": WHOLE, "kind": one_of_enum(VerdictKind), "cause": or_null(TEXT)})),
        "calls": WHOLE,
        "tokens": WHOLE,
        "budget": BAR,
    }
)
_AGENT = object_of(
    {
        "kind": one_of("session", "task", "approval", "file", "shard", "step", "count"),
        "key": TEXT,
        "count": WHOLE,
        "id": TEXT,
        "state": one_of_enum(Activity),
        **dict.fromkeys(("role", "task", "title", "branch", "model", "last"), TEXT),
        "turn": WHOLE,
        "tokens": WHOLE,
        **dict.fromkeys(("cost", "age"), or_null(NUMBER)),
        **dict.fromkeys(("added", "removed"), or_null(WHOLE)),
    }
)
_DISK = object_of({**dict.fromkeys(("journals", "blobs", "logs", "worktrees", "total"), WHOLE), "is_whole": FLAG})
STATUS = merge_objects(
    RESULT,
    object_of(
        {
            "is_live": FLAG,
            "seq": WHOLE,
            "budget": BUDGET,
            "plan": list_of(_PLANNED),
            "file_status": object_of({}, **{status.value: WHOLE for status in FileStatus}),
            "steps": table_of(NUMBER),
            "trials": WHOLE,
            "landings": list_of(object_of({"commit": TEXT, "units": TEXTS})),
            "models": TEXTS,
            "disk": _DISK,
        },
        burndown=BURNDOWN,
        filter=TEXT,
        fleet=list_of(_AGENT),
        fleet_of=WHOLE,
    ),
)
_SHARED_COST = merge_objects(AMOUNT, object_of({"share": NUMBER}))
_ENTRY = merge_objects(_SHARED_COST, object_of({"name": TEXT, "at_risk": AMOUNT}))
COST = object_of(
    {
        "schema": {"const": "orchestrate.cost/1"},
        "run": TEXT,
        "share_of": one_of("usd", "tokens", "calls"),
        "total": AMOUNT,
        "at_risk": merge_objects(AMOUNT, object_of({"possibly_billed_calls": WHOLE})),
        "reserved": AMOUNT,
        "budget": BUDGET,
        "tasks": list_of(
            merge_objects(_ENTRY, object_of({"own": AMOUNT, "status": TEXT, "parent": or_null(TEXT), "depth": WHOLE})),
        ),
        "roles": list_of(_ENTRY),
        "models": list_of(_ENTRY),
        "attempts": list_of(merge_objects(_ENTRY, object_of({"fate": TEXT}))),
        "wasted": _SHARED_COST,
        "waste": list_of(merge_objects(_ENTRY, object_of({"count": WHOLE}))),
    }
)
_TASK = object_of(
    {
        "task": schema_of_model(TaskState),
        "contract": list_of(CRITERION),
        "iterations": list_of(schema_of_model(IterationVerdict)),
        "receipts": list_of(RECEIPT),
        "attempted": list_of(schema_of_model(PolicyViolation)),
        "spent": or_null(schema_of_model(Usage)),
    }
)
_FILE = object_of(
    {"file": schema_of_model(FileRecord), "difference": or_null(DIFFERENCE), "receipts": list_of(RECEIPT)}
)
_LENS = object_of(
    {
        "lens": TEXT,
        "model": TEXT,
        **dict.fromkeys(("votes", "approvals", "unreadable", "undecided", "escaped", "false_vetoes"), WHOLE),
        "vetoes": table_of(WHOLE),
        "escapes": table_of(WHOLE),
        "escape_rate": or_null(NUMBER),
        "false_veto_rate": or_null(NUMBER),
        "spent": AMOUNT,
        "usd_per_vote": or_null(NUMBER),
    }
)
_JUDGING = object_of(
    {
        "runs": TEXTS,
        "task": or_null(TEXT),
        "least_basis": WHOLE,
        "lenses": list_of(_LENS),
        "verdicts": object_of({"kinds": table_of(WHOLE), "causes": table_of(WHOLE)}),
        "ends": list_of(
            object_of({"status": one_of_enum(TaskStatus), "cause": or_null(one_of_enum(EndCause)), "tasks": WHOLE})
        ),
        "attempts": object_of({"per_merged_task": or_null(NUMBER), "merged_tasks": table_of(WHOLE)}),
        "receipts": object_of({"run": WHOLE, "reused": WHOLE, "seconds": NUMBER}),
        "flaky": list_of(FLAKY),
    }
)
_LANDING = object_of(
    {
        "number": WHOLE,
        "units": TEXTS,
        "recorded": or_null(TEXT),
        "replayed": or_null(TEXT),
        "same": FLAG,
        "same_commit": FLAG,
    }
)
_DIVERGENCE = object_of(
    {
        "seq": WHOLE,
        "what": TEXT,
        "diff": TEXTS,
        "session": or_null(TEXT),
        "turn": or_null(WHOLE),
        "role": or_null(TEXT),
        "task": or_null(TEXT),
    }
)
_CALL = object_of(
    {
        **dict.fromkeys(("seq", "turn"), WHOLE),
        **dict.fromkeys(("session", "task", "model", "recorded", "error"), TEXT),
        "new": or_null(TEXT),
        "same": FLAG,
        "first_difference": or_null(object_of({"at": TEXT, "recorded": ANY, "new": ANY})),
    }
)
_ASKED = object_of(
    {
        "role": TEXT,
        "models": TEXTS,
        "calls": list_of(_CALL),
        **dict.fromkeys(("same", "different", "failed"), WHOLE),
        "spent": object_of({"usd": or_null(NUMBER), "tokens": WHOLE, "calls": WHOLE}),
    }
)
_TWO = object_of({"recorded": TEXT, "replayed": TEXT})
_REPLAY = object_of(
    {
        "run": TEXT,
        "mode": one_of("goal", "migration"),
        "same": FLAG,
        "exit": WHOLE,
        "whole": FLAG,
        "requests": object_of({"same_bytes": WHOLE, "same_but_for_times": WHOLE, "different": WHOLE}),
        "landings": list_of(_LANDING),
        "final_tree": merge_objects(_TWO, object_of({"same": FLAG})),
        "outcome": _TWO,
        "divergences": WHOLE,
        "first_divergence": or_null(_DIVERGENCE),
        "environment_same": FLAG,
        "prompts": TEXTS,
        "asked_again": or_null(_ASKED),
        "kept": or_null(TEXT),
    }
)

RUN = {
    **name_schema("orchestrate.result/1", "run, resume, demo, migrate run, migrate resume", RESULT),
    **name_schema(
        "orchestrate.error/1",
        "any of these, and plans and dry runs, that could not be begun",
        object_of({"outcome": {"const": "not-started"}, "error": TEXT, "exit": WHOLE}),
    ),
    **name_schema(
        "orchestrate.started/1",
        "run, resume, migrate run with --detach",
        object_of({"outcome": {"const": "started"}, "run": TEXT, "journal": TEXT}),
    ),
    **name_schema("orchestrate.status/1", "status, migrate status", STATUS),
    **name_schema("orchestrate.cost/1", "cost", COST),
    **name_schema("orchestrate.task/1", "show of a task", _TASK),
    **name_schema("orchestrate.file/1", "show of a file of a migration", _FILE),
    **name_schema("orchestrate.report/1", "report", _JUDGING),
    **name_schema("orchestrate.replay/1", "replay", _REPLAY),
}
