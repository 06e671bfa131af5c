"""Schemas of the verbs for CI systems, and of the one that writes their files."""

from orchestrator.cli.schemas.notation import (
    FLAG,
    TEXT,
    WHOLE,
    list_of,
    merge_objects,
    name_schema,
    object_of,
    one_of,
    or_null,
)
from orchestrator.cli.schemas.parts import PR, TEXTS
from orchestrator.cli.schemas.run import RESULT

_BOOLEAN = one_of("true", "false")
_END = object_of(
    {
        **dict.fromkeys(("status", "reason", "key"), TEXT),
        **dict.fromkeys(("exit", "hop", "max_hops"), WHOLE),
        "resumable": FLAG,
        "prs": TEXTS,
        "result": or_null(RESULT),
    }
)
_EVENT = object_of(
    {
        **dict.fromkeys(("goal", "key", "run", "answer", "issue", "budget_usd", "time_limit"), TEXT),
        **dict.fromkeys(("dry_run", "restart"), _BOOLEAN),
    }
)
_INITIAL = object_of({"file": TEXT, "written": FLAG, "text": TEXT, "found": TEXTS, "to_do": TEXTS})

CI = {
    **name_schema("orchestrate.ci-result/1", "ci run", _END),
    **name_schema(
        "orchestrate.published/1", "ci publish", merge_objects(_END, object_of({"pull_requests": list_of(PR)}))
    ),
    **name_schema("orchestrate.ci-event/1", "ci event", _EVENT),
    **name_schema("orchestrate.initial/1", "init", _INITIAL),
}
