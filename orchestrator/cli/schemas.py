"""JSON Schemas of what verbs print with --json, made from the models of the documents.

Within a number, fields may be added; none is removed, renamed or given another type. So the schemas allow more fields
than they name.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from orchestrator.ci.job_outputs import JobResultDocument, PublishedDocument
from orchestrator.cli import documents
from orchestrator.cli.hosts import host_documents
from orchestrator.cli.setup import policy_documents
from orchestrator.doctor.document import DoctorDocument
from orchestrator.migrate.scope.plan_report import InventoryDocument
from orchestrator.replay.comparison.report_model import ReplayDocument
from orchestrator.report.cost.model import CostReport
from orchestrator.report.documents.run_report_model import RunReport
from orchestrator.report.hosts.model import HostsDocument
from orchestrator.report.judging.rendering import JudgingReport
from orchestrator.report.migration.burndown_model import Burndown, GroupsDocument
from orchestrator.report.migration.dry_run import DryRunReport
from orchestrator.report.migration.file_details import FileDetails, ShardDetails
from orchestrator.report.migration.full_report import MigrationReport
from orchestrator.report.migration.site_check import SiteCheckReport
from orchestrator.report.read_model import ReadModel
from orchestrator.report.run.model import RunFailure, RunResult, RunStatus, StartedRun
from orchestrator.report.runs.model import RunsDocument
from orchestrator.report.task.details import FileEvidence, TaskDetails
from orchestrator.retention.garbage_collection import CollectionResult
from orchestrator.retro.report_model import RetroDocument
from orchestrator.scaffold.project_file import ProjectFile
from orchestrator.scaffold.recipe_file import WrittenRecipe

Schema = dict[str, Any]

_DOCUMENTS: Mapping[type[ReadModel], str] = {
    RunResult: "run, resume, demo, migrate run, migrate resume",
    RunFailure: "any of these, and plans and dry runs, that could not be begun",
    StartedRun: "run, resume, migrate run with --detach",
    RunStatus: "status, migrate status",
    RunsDocument: "runs, inbox --all",
    HostsDocument: "hosts status",
    CostReport: "cost",
    TaskDetails: "show of a task",
    FileEvidence: "show of a file of a migration",
    JudgingReport: "report",
    RunReport: "report --data",
    ReplayDocument: "replay",
    RetroDocument: "retro",
    InventoryDocument: "migrate plan",
    DryRunReport: "migrate run --dry-run",
    SiteCheckReport: "migrate check",
    Burndown: "part of the status of a migration",
    MigrationReport: "migrate report",
    FileDetails: "migrate status of a file",
    ShardDetails: "migrate status of a shard",
    GroupsDocument: "migrate status --by",
    WrittenRecipe: "migrate init",
    documents.TemplatesDocument: "migrate init --list",
    documents.RecipeSchemaDocument: "migrate schema --out",
    documents.PlanDocument: "plan, run --dry-run",
    documents.CommandDocument: "approve, send-back, reject, pause, continue, retry, cancel and whatever tells a run",
    documents.InboxDocument: "inbox",
    documents.ExportDocument: "run export",
    documents.ImportDocument: "run import",
    documents.RepairDocument: "repair",
    CollectionResult: "gc",
    documents.HandsExecDocument: "hands exec",
    DoctorDocument: "doctor",
    documents.SchemasDocument: "config schema without a name",
    documents.ConfigDocument: "config show",
    documents.PromptsDocument: "prompts show without a name",
    documents.PromptDocument: "prompts show of a prompt",
    documents.PromptDiffDocument: "prompts diff",
    policy_documents.PolicyCheckDocument: "policy check",
    policy_documents.PolicyExplainDocument: "policy explain",
    host_documents.HostCertificatesDocument: "hosts certs",
    documents.MemoryDocument: "memory list, memory drop, memory pin",
    documents.MemoryEntryDocument: "memory show",
    documents.MemoryDiffDocument: "memory diff",
    documents.TracesDocument: "traces",
    documents.EventLine: "each line of logs; the other fields are those of its kind and version",
    documents.HitLine: "each line of logs --search",
    JobResultDocument: "ci run",
    PublishedDocument: "ci publish",
    documents.CiEventDocument: "ci event",
    ProjectFile: "init",
}
"""Every document, and the verbs that print it."""
_LINE_NAMES = {documents.EventLine: "orchestrate.event/1", documents.HitLine: "orchestrate.hit/1"}
"""The names of lines of `logs`, which do not give them: a journal has very many."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DROPPED = {"title", "default", "$defs"}


def schema_of_document(kind: type[ReadModel], verbs: str) -> dict[str, Schema]:
    """Return the schema of a document by its name; `verbs` are those that print it."""
    name: str = _LINE_NAMES.get(kind) or kind.model_fields["schema_name"].default
    whole = TypeAdapter(kind).json_schema(mode="serialization")
    body = _inline_references(whole, whole.get("$defs", {}))
    return {name: {"$schema": _DIALECT, "title": name, **body, "description": verbs}}


def _inline_references(node: Any, known: Schema, is_table: bool = False) -> Any:  # noqa: ANN401
    if isinstance(node, list):
        return [_inline_references(one, known) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline_references(known[node["$ref"].rpartition("/")[2]], known)
    kept = {}
    for name, value in node.items():
        kept[name] = _inline_references(value, known, name == "properties")
    if is_table:
        return kept
    is_closed = kept.get("additionalProperties") is False
    return {name: v for name, v in kept.items() if name not in _DROPPED and not (is_closed and v is False)}


SCHEMAS: dict[str, Schema] = {}
for _kind, _verbs in _DOCUMENTS.items():
    SCHEMAS |= schema_of_document(_kind, _verbs)
"""Every schema by its name, which the objects give as `schema`."""
