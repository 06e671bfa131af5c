"""A guest's program: its command line, and what its user grants it, by the configuration alone."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.engines import EngineSettings
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.ports.hands import ShellCommand
from orchestrator.ports.processes import HostGrant, LentFile, ProgramGrant

_PROMPT, _MODEL = "{prompt}", "{model}"
_READ_PROMPT = 'orchestrate_prompt="$(cat; echo .)"; orchestrate_prompt="${orchestrate_prompt%.}"'
_PROMPT_FILE = '"$TMPDIR/orchestrate-task.md"'
_MIB = 1024 * 1024
_TERMINAL_BYTES = 8 * _MIB
"""Most that the command of one terminal may print."""


def find_missing_credentials(
    engine: EngineSettings, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Iterator[str]:
    """Yield what of a guest's credentials is not there, in words. Blocks."""
    for name in engine.env:
        if not environ.get(name):
            yield f"the variable {name} is not set"
    for file in engine.files:
        if not _expand_home(file.path, home).is_file():
            yield f"there is no file {file.path}"


@dataclass(frozen=True)
class GuestReach:
    """The reach of a guest as the policy stands: the tier that it runs at, and rules on the hosts of its engine."""

    tier: Tier
    host_rules: HostRules | None = None


def build_guest_command(
    engine: EngineSettings, reach: GuestReach, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> ShellCommand:
    """Return the command that runs a guest; a `command` gets its task on the standard input of this line."""
    files = []
    for file in engine.files:
        path = str(_expand_home(file.path, home))
        files.append(LentFile(source=path, place=file.place, is_writable=file.writable))
    secrets = {name: environ[name] for name in engine.env if environ.get(name)}
    grant = _build_public_grant(engine, home).model_copy(update={"secrets": secrets, "files": tuple(files)})
    line = format_acp_line(engine, home) if engine.protocol == "acp" else format_command_line(engine, home)
    return ShellCommand(
        line=line,
        env=dict(engine.vars),
        timeout_s=engine.timeout_s,
        output_bytes=engine.output_mb * _MIB,
        tier=reach.tier,
        host_rules=reach.host_rules,
        is_agent=True,
        is_background=True,
        grant=grant,
    )


def build_terminal_template(engine: EngineSettings, reach: GuestReach, home: Path | None = None) -> ShellCommand:
    """Return a command, still without a line, as it runs in a guest's terminal: none of its credentials are there."""
    return ShellCommand(
        line="",
        timeout_s=engine.timeout_s,
        output_bytes=_TERMINAL_BYTES,
        tier=reach.tier,
        host_rules=reach.host_rules,
        is_agent=True,
        is_background=True,
        grant=_build_public_grant(engine, home),
    )


def _build_public_grant(engine: EngineSettings, home: Path | None) -> ProgramGrant:
    """Return what an engine grants without its credentials."""
    hosts = HostGrant(
        hosts=engine.hosts,
        private=engine.private_hosts,
        plain=engine.plain_hosts,
        budget_bytes=engine.traffic_mb * _MIB,
    )
    return ProgramGrant(hosts=hosts, read_only=tuple(str(_expand_home(folder, home)) for folder in engine.read_only))


def format_acp_line(engine: EngineSettings, home: Path | None = None) -> str:
    """Return the shell's line of an ACP agent; before it speaks, the line says in which directory it runs."""
    return f"printf '%s\\n' \"$PWD\"; exec {_format_words(engine.command, engine, '', home)}"


def format_command_line(engine: EngineSettings, home: Path | None = None) -> str:
    """Return the shell's line of a program that gets its task in an argument, a file or on its standard input."""
    words = engine.command
    match engine.prompt:
        case "stdin":
            return f"exec {_format_words(words, engine, '', home)}"
        case "file":
            before, place = f"cat > {_PROMPT_FILE}", _PROMPT_FILE
        case _:
            before, place = _READ_PROMPT, '"$orchestrate_prompt"'
    if not any(_PROMPT in word for word in words):
        words = (*words, _PROMPT)
    return f"{before}\nexec {_format_words(words, engine, place, home)} </dev/null"


def _format_words(words: Sequence[str], engine: EngineSettings, place: str, home: Path | None) -> str:
    """Return words for the shell; `place` is what stands for the prompt, quoted already."""
    program, *others = words
    formatted = [shlex.quote(str(_expand_home(program, home)))]
    for word in others:
        quoted = [shlex.quote(part) for part in word.replace(_MODEL, engine.model).split(_PROMPT)]
        formatted.append(place.join(quoted))
    return " ".join(formatted)


def _expand_home(path: str, home: Path | None) -> Path:
    if path.startswith("~/"):
        return (home or Path.home()) / path[2:]
    return Path(path)
