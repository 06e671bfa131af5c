"""Collect the secrets that a process of ours holds, as far as configuration and environment show them."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import RunStarted
from orchestrator.errors import UsageProblem
from orchestrator.redact.redactor import Redactor
from orchestrator.redact.secret_sources import collect_secrets, read_file_secrets


def build_redactor(config: Config, environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Redactor:
    """Return a redactor of the secrets in the environment and those that the configuration names.

    Blocks to read the user's files.
    """
    own = (*config.redact.env, *_key_variables(config), config.notify.webhook_env, config.pr.token_env)
    own += tuple(config.telemetry.headers.values())
    place = home or Path.home()
    secrets = collect_secrets(environ, place, tuple(dict.fromkeys(own)))
    for engine in config.engines.values():
        for file in engine.files:
            secrets |= read_file_secrets(Path(file.path.replace("~", str(place), 1)))
    return Redactor(secrets, config.redact.patterns)


def require_secret_free_event(event: Event, redactor: Redactor) -> None:
    """Make sure that an event's settings and recipe, which are recorded unchanged, hold no secret.

    Raises:
        UsageProblem: they hold the value of a known one.
    """
    if isinstance(event, RunStarted):
        require_secret_free_values("configuration", event.settings, redactor)
        require_secret_free_values("recipe", event.recipe, redactor)


def require_secret_free_values(what: str, values: Mapping[str, Any] | None, redactor: Redactor) -> None:
    """Make sure that values which are recorded unchanged hold no secret; `what` names them in the message.

    Raises:
        UsageProblem: they hold the value of a known one.
    """
    secrets = redactor.find_secrets(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if secrets:
        raise UsageProblem(
            f"the {what} holds the value of {', '.join(secrets)}, and would be recorded: name the variable there, "
            "or let a command read it, in place of the value"
        )


def _key_variables(config: Config) -> Iterator[str]:
    for engine in config.engines.values():
        yield from engine.env
    for server in config.mcp:
        yield from server.env
        yield server.token_env
    roles = config.roles
    lenses = map(roles.judge.get_lens_settings, roles.judge.lenses)
    others: tuple[ModelSettings, ...] = (*roles.worker.variants.values(), *lenses)
    for settings in (roles.planner, roles.worker, roles.judge, roles.verifier, roles.arbiter, *others):
        for model in settings.list_fallback_chain():
            if model.api_key_env:
                yield model.api_key_env
