"""Sites that commands find in a workspace: by ast-grep, or by the recipe's own command."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from anyio import to_thread

from orchestrator.domain.recipe.model import Site
from orchestrator.domain.text.command_lines import split_for_command_line
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.migrate.sites.ast_grep import NO_MATCH_EXIT, build_search_command
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace

_TIMEOUT_S = 600.0
MISSING_TOOL = (
    "Install the tool, or begin a new run that binds the directory it lies in: tools under [env] of the recipe, or "
    "--read-only DIR (results that are known are not computed again)"
)
"""Advice where a recipe's command is not there. A run that has begun stays in the environment of its baseline."""
NOT_FOUND_EXIT = 127
"""The exit code with which a shell says that it does not know a command."""
_PRINTED = "ORCHESTRATE_PRINTED"
_LINE = compile_lazily(r"(?P<path>.+?):(?P<line>[1-9]\d{0,8})(?::(?P<column>[1-9]\d{0,8}))?(?::.*)?")
_SHOWN = 5

Places = dict[str, list[tuple[int, int]]]
"""Lines and columns by path, both from 1."""


@dataclass(frozen=True)
class EngineMatches:
    """Places of one kind of site, as one engine found them."""

    places: Places
    notices: tuple[str, ...] = field(default=())


class CommandSource(NamedTuple):
    """The part of the recipe that runs a command, for messages, and the key under which the command stands."""

    name: str
    key: tuple[str, ...]


async def search_sites(site: Site, files: Sequence[str], workspace: Workspace) -> EngineMatches:
    """Return the sites of one kind in these files of the workspace.

    Raises:
        UsageProblem: the command or the pattern cannot be used, or something else than sites was printed.
        EnvironmentProblem: the command could not be started, or its program does not exist.
    """
    if site.engine == "command":
        what = CommandSource(f"site {site.id}", ("scope", "site", site.id, "run"))
        return parse_places(site.id, await read_command_output(what, site.run, workspace), frozenset(files))
    places: Places = defaultdict(list)
    for chunk in split_for_command_line(files):
        for path, where in await _search_by_ast_grep(site, chunk, workspace):
            places[path].append(where)
    return EngineMatches(dict(places))


async def read_command_output(what: CommandSource, line: str, workspace: Workspace, stdin: str = "") -> str:
    """Return what a command of the recipe prints on its standard output. Exit code 1 is taken for "found nothing".

    Raises:
        UsageProblem: it failed otherwise, or printed what is no UTF-8.
        EnvironmentProblem: it could not be started, or its program does not exist.
    """
    result = await _run_command(f'{{ {line}\n}} > "${_PRINTED}"', workspace, stdin)
    await _require_done(what, result)
    if _PRINTED not in result.files:
        raise UsageProblem(f"{what.name}: its command printed more than can be taken in", what.key)
    try:
        return result.files[_PRINTED].decode()
    except UnicodeDecodeError as error:
        text = f"{what.name}: its command printed bytes that are not UTF-8: {error}"
        raise UsageProblem(text, what.key) from error


def parse_places(site: str, printed: str, files: Collection[str]) -> EngineMatches:
    """Return sites from lines `path:line[:column]`; more may follow after a colon, as linters have it.

    Raises:
        UsageProblem: names a line that is none.
    """
    places: dict[str, dict[tuple[int, int], None]] = defaultdict(dict)
    foreign: dict[str, None] = {}
    for number, text in enumerate(printed.split("\n"), start=1):
        if not text.strip():
            continue
        if (found := _LINE.fullmatch(text.rstrip("\r"))) is None:
            line = to_one_line(text)[:200]
            told = f"site {site}: line {number} of what its command printed is no path:line[:column]: {line!r}"
            raise UsageProblem(told, ("scope", "site", site, "run"))
        path = str(PurePosixPath(found["path"]))
        if path in files:
            places[path][int(found["line"]), int(found["column"] or 1)] = None
        else:
            foreign[path] = None
    found_places = {path: list(where) for path, where in places.items()}
    if not foreign:
        return EngineMatches(found_places)
    shown = join_limited((to_one_line(path)[:200] for path in foreign), _SHOWN)
    notice = f"site {site}: its command named files that are not in scope, which was ignored: {shown}"
    return EngineMatches(found_places, (notice,))


async def _search_by_ast_grep(
    site: Site, files: Sequence[str], workspace: Workspace
) -> list[tuple[str, tuple[int, int]]]:
    result = await _run_command(f'{build_search_command(site, files)} > "${_PRINTED}"', workspace)
    if (
        _PRINTED not in result.files and result.ending == CommandEnding.EXITED and len(files) > 1
    ):  # more than is taken in
        half = len(files) // 2
        return [
            *await _search_by_ast_grep(site, files[:half], workspace),
            *await _search_by_ast_grep(site, files[half:], workspace),
        ]
    what = CommandSource(f"site {site.id}", ("scope", "site", site.id, "pattern"))
    await _require_done(what, result)
    if _PRINTED not in result.files:
        told = f"{what.name}: ast-grep found more in {files[0]} than can be taken in: narrow the pattern"
        raise UsageProblem(told, what.key)
    lines = result.files[_PRINTED].decode("utf-8", "replace").split("\n")
    return [_parse_match(json.loads(line)) for line in lines if line]


def _parse_match(told: dict[str, Any]) -> tuple[str, tuple[int, int]]:
    """Return a match as ast-grep prints it; it counts lines and columns from 0."""
    start = told["range"]["start"]
    return str(PurePosixPath(told["file"])), (start["line"] + 1, start["column"] + 1)


async def _run_command(line: str, workspace: Workspace, stdin: str = "") -> CommandResult:
    command = ShellCommand(line=line, timeout_s=_TIMEOUT_S, files={_PRINTED: "printed"}, stdin=stdin)
    return await run_command(workspace, command)


async def _require_done(what: CommandSource, result: CommandResult) -> None:
    if result.ending == CommandEnding.EXITED and result.exit_code in {0, NO_MATCH_EXIT}:
        return
    printed = to_one_line(" ".join((await to_thread.run_sync(read_log_ends, result.log)).split()))[:600]
    if result.ending == CommandEnding.NOT_STARTED or result.exit_code == NOT_FOUND_EXIT:
        raise EnvironmentProblem(f"{what.name}: {result.detail or printed}. {MISSING_TOOL}")
    ended = f"was ended: {result.ending}" if result.exit_code is None else f"exited {result.exit_code}"
    raise UsageProblem(f"{what.name}: its command {ended}: {printed}".removesuffix(": "), what.key)
