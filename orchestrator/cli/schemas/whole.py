"""The report of a whole run, as `report --data` writes it."""

from orchestrator.cli.schemas.migration import REPORT
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
    some_of,
    table,
    word_of,
    words,
)
from orchestrator.cli.schemas.parts import COUNTS, TEXTS
from orchestrator.cli.schemas.run import COST, RESULT
from orchestrator.domain.check import ReceiptStatus
from orchestrator.domain.contract import IterationVerdict
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.task import EndCause, TaskStatus
from orchestrator.domain.verdict import Verdict

_RECEIPT = row(
    {
        **dict.fromkeys(("check", "command", "purpose", "tree"), TEXT),
        "status": word_of(ReceiptStatus),
        "exit_code": maybe(WHOLE),
        "seconds": NUMBER,
        "counts": COUNTS,
        "new_failures": TEXTS,
        "missing": TEXTS,
        "more": WHOLE,
        "again": maybe(TEXT),
    }
)
_ATTEMPT = row(
    {
        "number": WHOLE,
        **dict.fromkeys(("mode", "model", "note", "summary"), TEXT),
        "fate": maybe(TEXT),
        "exit": maybe(TEXT),
        "candidate": maybe(
            some_of(dumped(CandidateTaken), "commit", "paths", "added", "removed", "dropped", "flagged")
        ),
        "ejected": TEXTS,
        "conflicts": TEXTS,
        "verdicts": many(dumped(Verdict)),
    }
)
_SAID = row({"session": TEXT, "model": TEXT, "lines": TEXTS, "left_out": WHOLE})
_TASK = row(
    {
        **dict.fromkeys(("id", "title", "outcome", "reason", "price"), TEXT),
        **dict.fromkeys(("depth", "tokens"), WHOLE),
        **dict.fromkeys(("acceptance", "depends_on"), TEXTS),
        "kind": words("leaf", "branch"),
        "status": word_of(TaskStatus),
        "cause": maybe(word_of(EndCause)),
        "attempts": many(_ATTEMPT),
        "receipts": many(_RECEIPT),
        "said": many(_SAID),
    }
)
_STRETCH = row({"task": TEXT, "name": TEXT, "is_planning": FLAG, "begin_s": NUMBER, "end_s": maybe(NUMBER)})
_REPORT = joined(
    RESULT,
    row(
        {
            "next": TEXT,
            "repository": TEXT,
            "target": TEXT,
            "started_at": TEXT,
            "last_at": maybe(TEXT),
            "iterations_judged": many(dumped(IterationVerdict)),
            "timeline": many(_STRETCH),
            "tasks_by_tree": many(_TASK),
            "contract_receipts": many(_RECEIPT),
            "cost": COST,
            "migration": maybe(REPORT),
            "reproduce": TEXTS,
            "versions": TEXTS,
            "settings": table(ANY),
            "settings_changed": many(table(ANY)),
        }
    ),
)

WHOLE_RUN = document("orchestrate.run-report/1", "report --data", _REPORT)
