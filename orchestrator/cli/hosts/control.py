"""`orchestrate hosts drain`, `cordon` and `uncordon`: verbs made from the catalog of commands."""

from collections.abc import Mapping

import click

from orchestrator.cli.control.verbs import build_verb
from orchestrator.domain.commands.catalog import HOST_VERBS

COMMANDS: Mapping[str, click.Command] = {name: build_verb(name, entry, {}) for name, entry in HOST_VERBS.items()}
