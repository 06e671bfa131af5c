"""What else verbs print: commands and questions, plans, moved runs, housekeeping."""

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
)
from orchestrator.cli.schemas.parts import TEXTS
from orchestrator.domain.approval import Approval
from orchestrator.domain.contract import Contract
from orchestrator.domain.handoff import Handoff
from orchestrator.domain.plan import Plan
from orchestrator.ports.hands import Ending

_COMMAND = row({"run": TEXT, "key": TEXT, "do": TEXT, "taken": FLAG, "refused": maybe(TEXT)})
_SENT = row({"key": TEXT, "at": TEXT, "by": TEXT, "command": {"type": "object", "required": ["do"]}})
_INBOX = row({"run": TEXT, "waiting": many(dumped(Approval)), "sent": many(_SENT)})
_PLAN = joined(row({"goal": TEXT}, **dumped(Plan)["properties"], **dumped(Handoff)["properties"]), dumped(Contract))
_EXPORT = row(
    {
        "run": TEXT,
        "place": TEXT,
        "bytes": WHOLE,
        "events": WHOLE,
        "is_ended": FLAG,
        "base": TEXT,
        "prerequisites": TEXTS,
        "missing": TEXTS,
    }
)
_IMPORT = row(
    {
        "run": TEXT,
        "how": TEXT,
        "events": WHOLE,
        "is_ended": FLAG,
        "pr_branch": TEXT,
        "head": maybe(TEXT),
        **dict.fromkeys(("refs", "missing", "settings", "absent", "replaced"), TEXTS),
        "journal": TEXT,
    }
)
_SPAN = many(WHOLE)
_REPAIR = row(
    {"run": TEXT, "repaired": FLAG},
    problem=TEXT,
    kept=WHOLE,
    lost=many(_SPAN),
    set_aside=many(_SPAN),
    blobs=table(many(WHOLE)),
    aside=TEXT,
)
_WORK = row({"name": TEXT, "status": TEXT, "commit": maybe(TEXT)})
_GC = row(
    {
        "dry_run": FLAG,
        **dict.fromkeys(("workspaces", "runs", "refs", "logs", "caches", "locks", "locked", "deps"), TEXTS),
        "kept": many(row({"run": TEXT, "why": TEXT, "work": many(_WORK)})),
        "freed_bytes": WHOLE,
    }
)
_POLICY = row(
    {
        "repository": TEXT,
        "policy": TEXT,
        "unsafe": FLAG,
        "in_words": table(TEXT),
        "variables": table(TEXT),
        "places": many(row({"path": TEXT, "kind": TEXT, "source": TEXT})),
        "rules": table(ANY),
    }
)
_EXEC = row(
    {"command": TEXT},
    policy=_POLICY,
    ending=word_of(Ending),
    exit_code=maybe(WHOLE),
    seconds=NUMBER,
    output_bytes=WHOLE,
    detail=TEXT,
    exit=maybe(WHOLE),
)
_FINDING = row({"name": TEXT, "ok": FLAG, "warning": FLAG, "detail": TEXT})

OTHERS = {
    **document("orchestrate.plan/1", "plan, run --dry-run", _PLAN),
    **document(
        "orchestrate.command/1", "approve, deny, pause, continue, retry, cancel and whatever tells a run", _COMMAND
    ),
    **document("orchestrate.inbox/1", "inbox", _INBOX),
    **document("orchestrate.export/1", "run export", _EXPORT),
    **document("orchestrate.import/1", "run import", _IMPORT),
    **document("orchestrate.repair/1", "repair", _REPAIR),
    **document("orchestrate.gc/1", "gc", _GC),
    **document("orchestrate.hands.exec/1", "hands exec", _EXEC),
    **document("orchestrate.doctor/1", "doctor", row({"ok": FLAG, "findings": many(_FINDING)})),
    **document(
        "orchestrate.schemas/1",
        "config schema without a name",
        row({"schemas": many(row({"name": TEXT, "printed_by": TEXT}))}),
    ),
    **document("orchestrate.config/1", "config show", row({"values": table(ANY)}, origins=table(TEXT))),
}
