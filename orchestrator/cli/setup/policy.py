"""`orchestrate policy`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict, Unpack, get_args

import click

from orchestrator.agent.tools.known_tools import KNOWN_TOOLS, PATH_TOOLS, WRITING_TOOLS
from orchestrator.cli.arguments import DIRECTORY, config_options, json_option
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import exit_with, print_document
from orchestrator.cli.run_lookup import find_project_root
from orchestrator.cli.setup.policy_documents import (
    PolicyCheckDocument,
    PolicyDecisionRow,
    PolicyExplainDocument,
    PolicyFileRow,
    PolicyRemarkRow,
)
from orchestrator.config.layers import load_config
from orchestrator.domain.chat import Role
from orchestrator.domain.policy.decision import PolicyDecision, decide_policy
from orchestrator.domain.policy.remarks import PolicyNames, find_policy_remarks
from orchestrator.domain.policy.rules import STRICTNESS, PolicyActor, PolicySubject, RuleSet, SubjectKind
from orchestrator.project.policy_files import read_policy_files

_HAS_REMARKS = 1


@click.group("policy")
def policy_command() -> None:
    """Check the rules on what agents may do, and explain what they decide.

    Yours lie in policy.toml beside your configuration, or where file under [policy] says; the project's in
    .orchestrate/policy.toml. A run reads the project's at its base.

    \b
    orchestrate policy check
    orchestrate policy explain --role worker --tool write --path src/app.py
    """


@policy_command.command("check")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@config_options
@json_option
def check_command(repo: Path, settings: tuple[str, ...], trust_project: bool, as_json: bool) -> None:
    """Check that the files can be read, and name rules that can never match or have no effect.

    It exits with 2 if a file cannot be read, and with 1 if there are such rules.

    \b
    orchestrate policy check
    orchestrate policy check --json
    """
    root = find_project_root(repo)
    config = load_config(root, Flags(settings).values, trust_project=trust_project).config
    rule_sets = read_policy_files(config, root)
    names = PolicyNames(tools=KNOWN_TOOLS, path_tools=PATH_TOOLS, variants=frozenset(config.roles.worker.variants))
    remarks = []
    for remark in find_policy_remarks(rule_sets, names):
        remarks.append(PolicyRemarkRow(place=remark.place, text=remark.text))
    document = PolicyCheckDocument(files=tuple(map(_build_file_row, rule_sets)), remarks=tuple(remarks))
    print_document(document, _format_check(document), as_json)
    exit_with(_HAS_REMARKS if remarks else 0)


class ExplainArguments(TypedDict):
    """What `policy explain` is asked about, as click hands it over."""

    tool: NotRequired[str | None]
    path: str
    mcp: NotRequired[str | None]
    tier: NotRequired[str | None]
    host: NotRequired[str | None]
    write: NotRequired[str | None]
    merge: NotRequired[str | None]


@policy_command.command("explain")
@click.option("--role", type=click.Choice(get_args(Role)), required=True, help="Who acts.")
@click.option("--variant", default="", metavar="NAME", help="The worker's variant.")
@click.option("--tool", metavar="NAME", help="A call of this tool; those of MCP are called SERVER__TOOL.")
@click.option("--path", default="", help="The path that the call names.")
@click.option("--mcp", metavar="SERVER", help="The use of this MCP server.")
@click.option("--tier", type=click.Choice(["1", "2", "3"]), help="Commands at this tier.")
@click.option("--host", metavar="HOST", help="A connection to this host.")
@click.option("--write", metavar="PATH", help="A change that writes this path.")
@click.option("--merge", metavar="PATH", help="A change of this path that lands.")
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@config_options
@json_option
def explain_command(
    role: Role,
    variant: str,
    repo: Path,
    settings: tuple[str, ...],
    trust_project: bool,
    as_json: bool,
    **asked: Unpack[ExplainArguments],
) -> None:
    """Say what is decided about something, by which rule, and what would count without that rule.

    \b
    orchestrate policy explain --role worker --tool write --path src/app.py
    orchestrate policy explain --role worker --variant cheap --tier 2
    orchestrate policy explain --role arbiter --merge db/schema.sql --json
    """
    subjects = tuple(_iterate_subjects(asked))
    if not subjects:
        raise click.UsageError("say what is to happen: give --tool, --mcp, --tier, --host, --write or --merge")
    root = find_project_root(repo)
    config = load_config(root, Flags(settings).values, trust_project=trust_project).config
    rule_sets, actor = read_policy_files(config, root), PolicyActor(role=role, variant=variant)
    decided = []
    for subject in subjects:
        decided.append(_build_decision_row(subject, decide_policy(rule_sets, actor, subject)))
    strictest = max((row.effect for row in decided), key=_rank_effect)
    document = PolicyExplainDocument(role=role, variant=variant, effect=strictest, decisions=tuple(decided))
    print_document(document, _format_explanation(document), as_json)


def _iterate_subjects(asked: ExplainArguments) -> Iterator[PolicySubject]:
    """Yield what the options ask about; a tool that writes a file is about that file, too."""
    path = asked["path"]
    if tool := asked.get("tool"):
        yield PolicySubject(kind="tool", name=tool, path=path)
        if path and tool in WRITING_TOOLS:
            yield PolicySubject(kind="write", name=path)
    named: Sequence[tuple[SubjectKind, str | None]] = (
        ("mcp", asked.get("mcp")),
        ("tier", asked.get("tier")),
        ("host", asked.get("host")),
        ("write", asked.get("write")),
        ("merge", asked.get("merge")),
    )
    for kind, name in named:
        if name:
            yield PolicySubject(kind=kind, name=name)


def _rank_effect(effect: str) -> int:
    for name, rank in STRICTNESS.items():
        if name == effect:
            return rank
    return 0


def _build_file_row(rule_set: RuleSet) -> PolicyFileRow:
    rules = rule_set.rules
    return PolicyFileRow(origin=rule_set.origin, file=rule_set.file, rules=len(rules.rule), default=rules.default)


def _build_decision_row(subject: PolicySubject, decision: PolicyDecision) -> PolicyDecisionRow:
    return PolicyDecisionRow(
        kind=subject.kind,
        name=subject.name,
        path=subject.path,
        effect=decision.effect,
        place=decision.place,
        reason=decision.reason,
        is_default=decision.is_default,
        otherwise=decision.otherwise,
    )


def _format_check(document: PolicyCheckDocument) -> Iterator[str]:
    if not document.files:
        yield "There is no policy file, so that the other settings alone decide."
    for row in document.files:
        yield f"{row.file}: {row.rules} rules of the {row.origin}'s, default {row.default}"
    for remark in document.remarks:
        yield f"{remark.place}: {remark.text}"


def _format_explanation(document: PolicyExplainDocument) -> Iterator[str]:
    for row in document.decisions:
        on_path = f" on {row.path}" if row.path else ""
        yield f"{row.effect:5}  {row.kind} {row.name}{on_path}"
        if not row.place:
            yield "       there is no policy file"
            continue
        words = "by the default of" if row.is_default else "by"
        reason = f" ({row.reason})" if row.reason else ""
        yield f"       {words} {row.place}{reason}"
        if not row.is_default:
            yield f"       without that rule: {row.otherwise}"
