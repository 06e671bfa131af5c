"""Schema of the report of a whole run, as `report --data` writes it."""

from orchestrator.cli.schemas.migration import REPORT
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
    select_fields,
    table_of,
)
from orchestrator.cli.schemas.parts import COUNTS, TEXTS
from orchestrator.cli.schemas.run import COST, RESULT
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.judging.check import ReceiptStatus
from orchestrator.domain.judging.verdict import Verdict
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.task import EndCause, TaskStatus

_RECEIPT = object_of(
    {
        **dict.fromkeys(("check", "command", "purpose", "tree"), TEXT),
        "status": one_of_enum(ReceiptStatus),
        "exit_code": or_null(WHOLE),
        "seconds": NUMBER,
        "counts": COUNTS,
        "new_failures": TEXTS,
        "missing": TEXTS,
        "more": WHOLE,
        "again": or_null(TEXT),
    }
)
_ATTEMPT = object_of(
    {
        "number": WHOLE,
        **dict.fromkeys(("mode", "model", "note", "summary"), TEXT),
        "fate": or_null(TEXT),
        "exit": or_null(TEXT),
        "candidate": or_null(
            select_fields(schema_of_model(CandidateTaken), "commit", "paths", "added", "removed", "dropped", "flagged")
        ),
        "ejected": TEXTS,
        "conflicts": TEXTS,
        "verdicts": list_of(schema_of_model(Verdict)),
    }
)
_SAID = object_of({"session": TEXT, "model": TEXT, "lines": TEXTS, "left_out": WHOLE})
_TASK = object_of(
    {
        **dict.fromkeys(("id", "title", "outcome", "reason", "price"), TEXT),
        **dict.fromkeys(("depth", "tokens"), WHOLE),
        **dict.fromkeys(("acceptance", "depends_on"), TEXTS),
        "kind": one_of("leaf", "branch"),
        "status": one_of_enum(TaskStatus),
        "cause": or_null(one_of_enum(EndCause)),
        "attempts": list_of(_ATTEMPT),
        "receipts": list_of(_RECEIPT),
        "said": list_of(_SAID),
    }
)
_STRETCH = object_of({"task": TEXT, "name": TEXT, "is_planning": FLAG, "begin_s": NUMBER, "end_s": or_null(NUMBER)})
_REPORT = merge_objects(
    RESULT,
    object_of(
        {
            "next": TEXT,
            "repository": TEXT,
            "target": TEXT,
            "started_at": TEXT,
            "last_at": or_null(TEXT),
            "iterations_judged": list_of(schema_of_model(IterationVerdict)),
            "timeline": list_of(_STRETCH),
            "tasks_by_tree": list_of(_TASK),
            "contract_receipts": list_of(_RECEIPT),
            "cost": COST,
            "migration": or_null(REPORT),
            "reproduce": TEXTS,
            "versions": TEXTS,
            "settings": table_of(ANY),
            "settings_changed": list_of(table_of(ANY)),
        }
    ),
)

WHOLE_RUN = name_schema("orchestrate.run-report/1", "report --data", _REPORT)
