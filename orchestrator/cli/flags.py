"""Conversion of a verb's options to configuration values."""

from typing import Any

import click

from orchestrator.cli.arguments import VerbArguments, parse_labels
from orchestrator.config.flag_values import parse_flag_value, set_nested_value
from orchestrator.domain.run_name import explain_bad_name
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.project.options import Options

_PART = compile_lazily(r'"([^"]*)"|([^."]+)')
_TABLES = {"planner": "", "worker": "variants", "judge": "lenses", "verifier": "", "arbiter": ""}
"""Role → the table of those within it that may have models of their own."""
_KEYS = {
    "gate": "gate.command",
    "target": "pr.target",
    "max_workers": "run.max_workers",
    "budget_usd": "budget.usd",
    "approval": "approval.mode",
    "time_limit": "run.time_limit_s",
}
"""Option → the key of the configuration that it sets."""


class Flags:
    """The configuration values that a verb's options stand for; `values` are nested as in config.toml.

    Args:
        settings: `--set` pairs. A part with dots of its own stands in quotes: `budget.models."gpt-4.1".usd`.
        state: `--state`.
    """

    def __init__(self, settings: tuple[str, ...] = (), state: str = "") -> None:
        self.values: dict[str, Any] = {}
        for pair in settings:
            key, equals, text = pair.partition("=")
            if not equals or not key:
                raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--set")
            path = [quoted or plain for quoted, plain in _PART.findall(key)]
            set_nested_value(self.values, path or [key], parse_flag_value(text))
        self.set_value("state.dir", state)

    def set_value(self, key: str, value: object) -> None:
        """Set a dotted key, unless the option was not given: None or empty."""
        if value not in (None, "", ()):
            set_nested_value(self.values, key.split("."), value)

    def add_criteria(self, texts: tuple[str, ...], commands: tuple[str, ...]) -> None:
        """Add `--criterion` and `--must` as `[[contract]]`.

        Their ids are `c1`, `c2`, … unless the text begins with an id, and `must-1`, `must-2`, …
        """
        from orchestrator.domain.run.contract import split_criterion  # most verbs have no such option

        criteria = []
        for number, text in enumerate(texts, start=1):
            name, words = split_criterion(text)
            criteria.append({"id": name or f"c{number}", "text": words})
        for number, line in enumerate(commands, start=1):
            criteria.append({"id": f"must-{number}", "command": line})
        if criteria:
            self.values["contract"] = [*self.values.get("contract", ()), *criteria]

    def set_models(self, pairs: tuple[str, ...]) -> None:
        """Set the models of `--model ROLE=MODEL` pairs.

        `worker.strong=MODEL` names a variant of the worker, `judge.code=MODEL` a lens.
        """
        for pair in pairs:
            role, equals, model = pair.partition("=")
            name, _, within = role.partition(".")
            if not equals or name not in _TABLES or (within and not _TABLES[name]):
                roles = "planner=MODEL, worker=MODEL, judge=MODEL, verifier=MODEL"
                forms = f"{roles}, worker.VARIANT=MODEL or judge.LENS=MODEL"
                raise click.BadParameter(f"{pair!r}: write {forms}", param_hint="--model")
            table = [_TABLES[name], within] if within else []
            set_nested_value(self.values, ["roles", name, *table, "model"], model)

    def add_labels(self, pairs: tuple[str, ...]) -> None:
        """Add the labels of `--label NAME=VALUE` pairs."""
        for name, value in parse_labels(pairs).items():
            set_nested_value(self.values, ["run", "labels", name], value)


def build_options(given: VerbArguments) -> Options:
    """Return the options of a verb, from the values of those that verbs share."""
    flags = Flags(given.get("settings", ()), given.get("state", ""))
    flags.set_models(given.get("models", ()))
    flags.add_labels(given.get("labels", ()))
    flags.add_criteria(given.get("criteria", ()), given.get("musts", ()))
    for option, key in _KEYS.items():
        flags.set_value(key, given.get(option))
    flags.set_value("hands.without_sandbox", given.get("unsafe_no_sandbox") or None)
    flags.set_value("migrate.cache", False if given.get("no_cache") else None)
    name = given.get("run_name") or ""
    if name and (problem := explain_bad_name(name)):
        raise click.BadParameter(problem, param_hint="--id")
    return Options(given["repo"], flags.values, given.get("read_only", ()), given.get("trust_project", False), name)


def build_rerun_options(given: VerbArguments) -> Options:
    """Return the options of a verb for a run that has begun: its `--read-only` directories are settings of the run."""
    options = build_options(given)
    return Options(options.repository, options.values)
