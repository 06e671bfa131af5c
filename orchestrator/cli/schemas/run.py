"""Schemas of runs: result, status, cost, judging, one task or file, and replays."""

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
    or_null,
    schema_of_document,
    schema_of_model,
)
from orchestrator.cli.schemas.parts import TEXTS
from orchestrator.report.cost.model import CostReport
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.judging.model import JudgingReport
from orchestrator.report.run.model import RunFailure, RunResult, RunStatus, StartedRun
from orchestrator.report.task.model import FileEvidence, TaskDetails

RESULT = schema_of_model(RunResult)
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
    **schema_of_document(RunResult, "run, resume, demo, migrate run, migrate resume"),
    **schema_of_document(RunFailure, "any of these, and plans and dry runs, that could not be begun"),
    **schema_of_document(StartedRun, "run, resume, migrate run with --detach"),
    **schema_of_document(RunStatus, "status, migrate status"),
    **schema_of_document(CostReport, "cost"),
    **schema_of_document(TaskDetails, "show of a task"),
    **schema_of_document(FileEvidence, "show of a file of a migration"),
    **schema_of_document(JudgingReport, "report"),
    **schema_of_document(RunReport, "report --data"),
    **name_schema("orchestrate.replay/1", "replay", _REPLAY),
}
