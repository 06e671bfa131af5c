"""What the verbs for CI systems print, and the one that writes their files."""

from orchestrator.cli.schemas.notation import FLAG, TEXT, WHOLE, document, joined, many, maybe, row, words
from orchestrator.cli.schemas.parts import PR, TEXTS
from orchestrator.cli.schemas.run import RESULT

_BOOLEAN = words("true", "false")
_END = row(
    {
        **dict.fromkeys(("status", "reason", "key"), TEXT),
        **dict.fromkeys(("exit", "hop", "max_hops"), WHOLE),
        "resumable": FLAG,
        "prs": TEXTS,
        "result": maybe(joined(RESULT, row({"schema": TEXT}))),
    }
)
_EVENT = row(
    {
        **dict.fromkeys(("goal", "key", "run", "answer", "issue", "budget_usd", "time_limit"), TEXT),
        **dict.fromkeys(("dry_run", "restart"), _BOOLEAN),
    }
)
_INITIAL = row({"file": TEXT, "written": FLAG, "text": TEXT, "found": TEXTS, "to_do": TEXTS})

CI = {
    **document("orchestrate.ci-result/1", "ci run", _END),
    **document("orchestrate.published/1", "ci publish", joined(_END, row({"pull_requests": many(PR)}))),
    **document("orchestrate.ci-event/1", "ci event", _EVENT),
    **document("orchestrate.initial/1", "init", _INITIAL),
}
