"""JSON models of what verbs print of what they did themselves."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.task import TaskDraft, Verified
from orchestrator.ports.hands import CommandEnding, PolicyExplanation
from orchestrator.report.read_model import Document, Omittable, ReadModel
from orchestrator.report.run.cancellation import Cancellation


class ExportDocument(Document, schema="orchestrate.export/1"):
    """The output of `run export`; `bytes` is the size of the archive."""

    run: str
    place: str
    bytes: int
    events: int
    is_ended: bool
    base: str
    prerequisites: tuple[str, ...]
    missing: tuple[str, ...]


class ImportDocument(Document, schema="orchestrate.import/1"):
    """The output of `run import`.

    `settings` are those that are not the reader's own, `replaced` those of which the reader's count, `absent` paths
    that this machine lacks.
    """

    run: str
    how: str
    events: int
    is_ended: bool
    pr_branch: str
    head: str | None
    refs: tuple[str, ...]
    missing: tuple[str, ...]
    journal: str
    settings: tuple[str, ...]
    absent: tuple[str, ...]
    replaced: tuple[str, ...]


class CommandDocument(Document, schema="orchestrate.command/1"):
    """The output of a verb that tells a run something; `refused` is the reason, empty if the command was taken."""

    run: str
    key: str
    do: str
    taken: bool
    refused: str | None
    question: Omittable[str] = None
    title: Omittable[str] = None
    cancelled: Omittable[Cancellation] = None
    edited: Omittable[tuple[str, ...]] = None


class PlanDocument(Document, schema="orchestrate.plan/1"):
    """The output of `plan`: the contract, and the planner's plan, or its handoff where there is nothing to do."""

    goal: str
    criteria: tuple[Criterion, ...]
    rationale: Omittable[str] = None
    tasks: Omittable[tuple[TaskDraft, ...]] = None
    summary: Omittable[str] = None
    done: Omittable[tuple[str, ...]] = None
    remaining: Omittable[tuple[str, ...]] = None
    verified: Omittable[tuple[Verified, ...]] = None
    believed: Omittable[tuple[str, ...]] = None
    deviations: Omittable[tuple[str, ...]] = None
    concerns: Omittable[tuple[str, ...]] = None


class SentCommand(ReadModel):
    """A command that no engine has taken yet; `command` has what it does as `do`, and the fields of its kind."""

    key: str
    at: str
    by: str
    command: dict[str, JsonValue] = Field(json_schema_extra={"required": ["do"]})


class WaitingQuestion(Approval):
    """A question that waits; `id` is the short name by which it is answered."""

    id: str


class InboxDocument(Document, schema="orchestrate.inbox/1"):
    """The output of `inbox`: the questions that wait for a person, and the commands that no engine has taken."""

    run: str
    waiting: tuple[WaitingQuestion, ...]
    sent: tuple[SentCommand, ...]


class RepairDocument(Document, schema="orchestrate.repair/1"):
    """The output of `repair`; a journal that was sound has none of the fields of a `RepairResult`."""

    run: str
    repaired: bool
    problem: Omittable[str] = None
    kept: Omittable[int] = None
    lost: Omittable[tuple[tuple[int, int], ...]] = None
    set_aside: Omittable[tuple[tuple[int, int], ...]] = None
    blobs: Omittable[dict[str, tuple[int, ...]]] = None
    aside: Omittable[str] = None


NOT_RUN: Literal["not run"] = "not run"
"""The value of a code where no command was run; it is left out of the object."""
_ExitCode = Annotated[int | SkipJsonSchema[Literal["not run"]] | None, Field(exclude_if=lambda value: value == NOT_RUN)]


class HandsExecDocument(Document, schema="orchestrate.hands.exec/1"):
    """The output of `hands exec`: the `policy` if it was to be explained, the other fields if a command was run."""

    command: str
    policy: Omittable[PolicyExplanation] = None
    ending: Omittable[CommandEnding] = None
    exit_code: _ExitCode = NOT_RUN
    seconds: Omittable[float] = None
    output_bytes: Omittable[int] = None
    detail: Omittable[str] = None
    exit: _ExitCode = NOT_RUN


class SchemaRow(ReadModel):
    """A name of a schema, and the verbs that print such objects."""

    name: str
    printed_by: str


class SchemasDocument(Document, schema="orchestrate.schemas/1"):
    """The output of `config schema` without a name."""

    schemas: tuple[SchemaRow, ...]


class ConfigDocument(Document, schema="orchestrate.config/1"):
    """The output of `config show`; `origins` says where each value comes from, if that was asked for."""

    values: dict[str, JsonValue]
    origins: Omittable[dict[str, str]] = None


class PromptRow(ReadModel):
    """One prompt; `source` is `shipped`, or the file that replaces it."""

    name: str
    version: int
    sha: str
    source: str


class PromptsDocument(Document, schema="orchestrate.prompts/1"):
    """The output of `prompts show` without a name."""

    prompts: tuple[PromptRow, ...]


class PromptDocument(Document, schema="orchestrate.prompt/1"):
    """The output of `prompts show` of one prompt: the text in force, with `{{input}}` where an input goes."""

    name: str
    version: int
    sha: str
    source: str
    inputs: tuple[str, ...]
    text: str


class PromptDiff(ReadModel):
    """A prompt that is replaced, as a unified diff from the shipped one."""

    name: str
    diff: str


class PromptDiffDocument(Document, schema="orchestrate.prompt-diff/1"):
    """The output of `prompts diff`; prompts that are as they ship are not in it."""

    prompts: tuple[PromptDiff, ...]


class TemplateRow(ReadModel):
    """A recipe that `migrate init` can begin with; `needs` is what it asks to be installed."""

    name: str
    summary: str
    language: str
    needs: tuple[str, ...]


class TemplatesDocument(Document, schema="orchestrate.recipes/1"):
    """The output of `migrate init --list`."""

    recipes: tuple[TemplateRow, ...]


class RecipeSchemaDocument(Document, schema="orchestrate.recipe-schema/1"):
    """The output of `migrate schema --out`: the file that was written."""

    file: Path


class CiEventDocument(Document, schema="orchestrate.ci-event/1"):
    """The output of `ci event`: the goal, and the outputs for the steps that follow."""

    goal: str
    key: str
    run: str
    answer: str
    issue: str
    budget_usd: str
    time_limit: str
    dry_run: Literal["true", "false"]
    restart: Literal["true", "false"]


class EventLine(ReadModel):
    """The fields that each line of `logs` has; the others are those of its kind and version.

    `trace_id` and `span_id` are those of the span that the event belongs to, by which traces name it.
    """

    seq: int
    at: str
    kind: str
    v: int
    trace_id: str
    span_id: str


class SpanRow(ReadModel):
    """A span that has ended; `parent_id` is null for the run's, `error` empty where nothing failed."""

    span_id: str
    parent_id: str | None
    name: str
    started: str
    seconds: float
    error: str


class TracesDocument(Document, schema="orchestrate.traces/1"):
    """The output of `traces`; `is_sent` tells that they were sent to a collector just now."""

    run: str
    trace_id: str
    is_sent: bool
    spans: tuple[SpanRow, ...]


class HitLine(ReadModel):
    """A line of `logs --search`."""

    seq: int
    at: str
    kind: str
    task: str | None
    session: str | None
    turn: int | None
    snippet: str


class GuideRow(ReadModel):
    """One entry of the field guide; `scope` is empty for the whole repository."""

    id: str
    claim: str
    scope: str
    evidence: str
    run: str
    task: str
    attempt: int
    added_at: str
    used_at: str | None
    expires_at: str
    pinned: bool
    flags: tuple[str, ...]


class EndedGuideRow(ReadModel):
    """An entry that ended: `cause` says why, `run` is the one that ended it, empty for a person or the rules."""

    id: str
    cause: str
    at: str
    run: str
    evidence: str
    why: str


class MemoryDocument(Document, schema="orchestrate.memory/1"):
    """The output of `memory list`, `drop` and `pin`: the field guide as it is now; `place` is its file."""

    place: str
    entries: tuple[GuideRow, ...]
    ended: tuple[EndedGuideRow, ...]


class MemoryEntryDocument(Document, schema="orchestrate.memory-entry/1"):
    """The output of `memory show`."""

    entry: GuideRow


class MemoryDiffDocument(Document, schema="orchestrate.memory-diff/1"):
    """The output of `memory diff`: what a run added to the field guide, ended, and said that it used."""

    run: str
    added: tuple[GuideRow, ...]
    ended: tuple[EndedGuideRow, ...]
    used: tuple[str, ...]
    refused: tuple["RefusedGuideRow", ...]


class RefusedGuideRow(ReadModel):
    """A proposal that is not in the field guide; `reason` is a rule's, or `not-accepted`."""

    id: str
    claim: str
    reason: str
