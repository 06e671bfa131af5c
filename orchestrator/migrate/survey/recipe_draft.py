"""Make a recipe for one repository out of a template and what was found there."""

import json
import re
from collections.abc import Mapping, Sequence

from orchestrator.migrate.bundled import RecipeTemplate
from orchestrator.migrate.survey.findings import Findings
from orchestrator.migrate.survey.recipe_tools import RecipeTools

_SCHEMA = """# orchestrate migrate plan FILE shows what it would do, orchestrate migrate run FILE does it. For editors:
# orchestrate migrate schema --out recipe.schema.json, and #:schema ./recipe.schema.json as the first line.
"""


def fill_template(template: RecipeTemplate, findings: Findings, words: Mapping[str, str], tools: RecipeTools) -> str:
    """Return the text of a recipe.

    Args:
        template: what to start from.
        findings: what the repository told.
        words: what the user said: `id`, `goal`, `pattern`.
        tools: where the programs of the recipe are.
    """
    lists = {
        "all": findings.all_files,
        "sources": findings.sources or findings.all_files,
        "tests": findings.tests or findings.all_files,
        "exclude": findings.exclude,
    }
    blocks = {"env": _render_env(findings, tools), "shard": _render_shard(findings), "verify": _render_verify(findings)}
    values = {name: format_toml_list(value) for name, value in lists.items()}
    values |= {name: format_toml_text(value) for name, value in words.items()}
    text = re.sub(r'"@(\w+)@"', lambda match: values[match[1]], template.text)
    text = re.sub(r"^# @(\w+)@$", lambda match: blocks[match[1]], text, flags=re.MULTILINE)
    return text.replace("schema = 1\n", f"{_SCHEMA}schema = 1\n", 1)


def format_toml_list(values: Sequence[str]) -> str:
    """Return a TOML array of texts."""
    return f"[{', '.join(map(format_toml_text, values))}]"


def format_toml_text(value: str) -> str:
    """Return a TOML string: a literal one if that spares escapes."""
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _render_env(findings: Findings, tools: RecipeTools) -> str:
    lines = ["[env]"]
    if findings.environments:
        lines.append(f"# {', '.join(findings.environments)} of the checkout: lent to every workspace, read-only.")
    else:
        lines.append("# There is no .venv, venv or node_modules in the checkout that could be lent to workspaces.")
        if findings.manifests:
            lines.append(
                f"# deps = {format_toml_list(findings.manifests[:1])}  # or let the run install them: docs/tiers.md"
            )
    if tools.elsewhere:
        lines.append(f"read_only = {format_toml_list(tools.elsewhere)}  # where {', '.join(tools.found_there)} is")
    if tools.missing:
        lines += [f"# {line}" for line in tools.render_advice()]
        if not tools.elsewhere:
            lines.append('# read_only = ["../codemods"]')
    return "\n".join(lines)


def _render_shard(findings: Findings) -> str:
    by = ("owner", "directory") if findings.codeowners else ("directory",)
    said = f"owners: {findings.codeowners}" if findings.codeowners else "with a CODEOWNERS file: owner, directory"
    lines = ["[shard]", f"by = {format_toml_list(by)}  # {said}", "max_files = 20"]
    if findings.pairs:
        lines.append(f"# pair = {format_toml_list(findings.pairs)}  # these would land together or not at all")
    return "\n".join(lines)


def _render_verify(findings: Findings) -> str:
    command = findings.command
    if command is None:
        run = 'run = "exit 1"                 # the command of your tests was not found: write it here'
        return f'[verify]\nreport = "auto"\n\n[[verify.check]]\nid = "tests"\n{run}'
    lines = [
        "[verify]",
        f"report = {format_toml_text(command.report)}",
        "",
        "[[verify.check]]",
        'id = "tests"',
        *(f"# {note}" for note in command.notes),
        f"run = {format_toml_text(command.run)}  # found in: {command.source_file}",
    ]
    if "{tests}" in command.run:
        lines.append(f"all = {format_toml_text(command.all)}  # {{tests}} where all are meant")
    return "\n".join([*lines, "timeout_s = 1800"])
