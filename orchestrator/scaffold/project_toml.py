"""Render a project's `orchestrate.toml` from what the repository shows."""

import shlex

from orchestrator.config.layers import get_user_config_path
from orchestrator.migrate.survey.findings import Findings, TestCommand
from orchestrator.migrate.survey.recipe_draft import format_toml_list, format_toml_text

_HEAD = """# What Orchestrate has to know of this project. It is committed, so it holds for everybody who works on it.
# `orchestrate config show --origin` prints every value and where it comes from. What only you may decide (models,
# budgets, the sandbox) goes into {user}, not here.

schema = 1
"""
_NO_COMMAND = """# The command of your tests was not found: write it here. Without one nothing can land.
# command = "make check"
# report = "auto"  # auto | junit | tap | pytest-rA | unittest | exit-code"""


def render_project_toml(findings: Findings) -> str:
    """Return the text of the file: the gate, and in comments what else was found."""
    parts = [
        _HEAD.format(user=_get_user_file()),
        "\n".join(_render_findings(findings)),
        "[gate]\n" + _render_gate(findings.command),
    ]
    return "\n".join([*parts, _render_env(findings)])


def _get_user_file() -> str:
    return str(get_user_config_path({"HOME": "~"}))


def _render_findings(findings: Findings) -> list[str]:
    findings_by_name = [("sources", findings.sources), ("tests", findings.tests), ("not ours", findings.exclude)]
    lines = []
    for name, globs in findings_by_name:
        if globs:
            lines.append(f"# {name}: {_escape_comment(', '.join(globs))}")
    return [*lines, ""] if lines else []


def _render_gate(command: TestCommand | None) -> str:
    if command is None:
        return f"{_NO_COMMAND}\n"
    run = command.run
    if "{tests}" in run:
        run = " ".join(run.replace("{tests}", command.all).split())
    notes = [f"# {_escape_comment(note)}" for note in command.notes]
    lines = [
        f"# found in: {_escape_comment(command.source_file)}",
        *notes,
        f"command = {format_toml_text(run)}",
        f"report = {format_toml_text(command.report)}",
    ]
    return "\n".join(lines) + "\n"


def _render_env(findings: Findings) -> str:
    """Return a comment on where the tests find what they need: lent by the checkout, or installed."""
    if findings.environments:
        names = ", ".join(map(shlex.quote, findings.environments))
        return f"# [env]\n# {names} of the checkout: lent to every workspace, read-only, unless deps say otherwise.\n"
    if findings.manifests:
        deps = format_toml_list(findings.manifests[:1])
        return (
            "# [env]\n# The checkout has no .venv, venv or node_modules to lend: this installs one (docs/tiers.md).\n"
            f"# deps = {deps}\n"
        )
    return ""


def _escape_comment(text: str) -> str:
    letters = []
    for letter in text:
        letters.append(letter if letter.isprintable() else "?")
    return "".join(letters)
