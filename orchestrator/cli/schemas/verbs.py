"""Schemas of the other verbs: commands, questions, plans, exported runs, housekeeping."""

from orchestrator.cli.documents import CommandDocument, DoctorDocument, ExportDocument, ImportDocument
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
    one_of_enum,
    or_null,
    schema_of_document,
    schema_of_model,
    table_of,
)
from orchestrator.cli.schemas.parts import TEXTS
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.handoff import Handoff
from orchestrator.domain.run.plan import Plan
from orchestrator.journal.damage.repair import RepairResult
from orchestrator.ports.hands import CommandEnding, PolicyExplanation

_SENT = object_of({"key": TEXT, "at": TEXT, "by": TEXT, "command": {"type": "object", "required": ["do"]}})
_INBOX = object_of({"run": TEXT, "waiting": list_of(schema_of_model(Approval)), "sent": list_of(_SENT)})
_PLAN = merge_objects(
    object_of({"goal": TEXT}, **schema_of_model(Plan)["properties"], **schema_of_model(Handoff)["properties"]),
    schema_of_model(Contract),
)
_REPAIR = object_of({"run": TEXT, "repaired": FLAG}, **schema_of_model(RepairResult)["properties"])
_WORK = object_of({"name": TEXT, "status": TEXT, "commit": or_null(TEXT)})
_GC = object_of(
    {
        "dry_run": FLAG,
        **dict.fromkeys(("workspaces", "runs", "refs", "logs", "caches", "locks", "locked", "deps"), TEXTS),
        "kept": list_of(object_of({"run": TEXT, "why": TEXT, "work": list_of(_WORK)})),
        "freed_bytes": WHOLE,
    }
)
_EXEC = object_of(
    {"command": TEXT},
    policy=schema_of_model(PolicyExplanation),
    ending=one_of_enum(CommandEnding),
    exit_code=or_null(WHOLE),
    seconds=NUMBER,
    output_bytes=WHOLE,
    detail=TEXT,
    exit=or_null(WHOLE),
)

OTHERS = {
    **name_schema("orchestrate.plan/1", "plan, run --dry-run", _PLAN),
    **schema_of_document(CommandDocument, "approve, deny, pause, continue, retry, cancel and whatever tells a run"),
    **name_schema("orchestrate.inbox/1", "inbox", _INBOX),
    **schema_of_document(ExportDocument, "run export"),
    **schema_of_document(ImportDocument, "run import"),
    **name_schema("orchestrate.repair/1", "repair", _REPAIR),
    **name_schema("orchestrate.gc/1", "gc", _GC),
    **name_schema("orchestrate.hands.exec/1", "hands exec", _EXEC),
    **schema_of_document(DoctorDocument, "doctor"),
    **name_schema(
        "orchestrate.schemas/1",
        "config schema without a name",
        object_of({"schemas": list_of(object_of({"name": TEXT, "printed_by": TEXT}))}),
    ),
    **name_schema("orchestrate.config/1", "config show", object_of({"values": table_of(ANY)}, origins=table_of(TEXT))),
}
