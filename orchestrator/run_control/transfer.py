"""Move runs between machines: `run export` and `run import`."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.config.engines import LOOP
from orchestrator.config.layers import is_user_only_key, iterate_leaf_values, load_config, merge_settings
from orchestrator.config.model import Config
from orchestrator.config.roles import ROLE_NAMES
from orchestrator.config.toml_source import format_dotted_key
from orchestrator.domain.recipe.model import require_valid_recipe
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.hands.files.session_folder import open_session
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.portable import archive_ref
from orchestrator.portable.run_export import ArchiveExport, export_run
from orchestrator.portable.run_import import ImportedRun, import_run
from orchestrator.project.options import Options, open_places
from orchestrator.project.recipe_trust import iterate_exposed_paths

_NOT_RESUMED = {"state", "gc"}
"""Tables that are this machine's business, whatever a run began with."""
_USER_TABLES = ("hooks", "notify", "hands", "prompts", "policy", "mcp", "engines", "telemetry", "hosts")
"""Tables of which nothing that somebody else wrote may hold."""


@dataclass(frozen=True)
class ExportedRun:
    """An exported run, and the file or ref that it is in now.

    `untaken_commands` counts commands that no engine has taken: they are no part of its history yet.
    """

    exported: ArchiveExport
    place: str
    untaken_commands: int = 0


async def export_run_archive(
    options: Options, wanted: str, target: Path | None, *, is_whole: bool = False, may_replace: bool = False
) -> ExportedRun:
    """Export a run into a file, or into its own ref `journal` where `target` is None.

    Raises:
        UsageProblem: there is no such run, or the file exists and may not be replaced.
    """
    repository, state = await to_thread.run_sync(open_places, options)
    if target is not None and not may_replace:
        _require_free(target)
    run = state.find_run(wanted)
    with _open_scratch(state) as scratch:
        file = target or scratch / "archive.tar.gz"
        exported = await export_run(repository.git, run, file, scratch, is_whole=is_whole)
        if target:
            location = str(target)
        else:
            location = await archive_ref.write_archive_ref(repository.git, exported.manifest, file)
    waiting = await to_thread.run_sync(lambda: list(run.inbox.iterate_commands()))
    return ExportedRun(exported, location, len(waiting))


async def import_run_archive(
    options: Options,
    source: Path | None,
    ref: str | None,
    *,
    trust_settings: bool = False,
    own: Config | None = None,
    trust_recipe: bool = False,
) -> ImportedRun:
    """Import a run from a file, or from the ref `journal` of the run that `ref` names.

    Unless its settings are trusted, those that act as the user, open places of this machine or decide where keys are
    sent are replaced by this user's `own`, see `replace_foreign_settings`. A recipe cannot be replaced: unless it is
    trusted, it may show commands nothing of this machine but dependencies of the checkout.

    Raises:
        UsageProblem: there is no such file or ref, it is not sound, it does not fit what is here, or its recipe opens
            places of this machine.
    """
    repository, state = await to_thread.run_sync(open_places, options)
    replace_settings = None if trust_settings else partial(replace_foreign_settings, own=own)
    require = None if trust_settings or trust_recipe else _require_closed_recipe
    if source is not None:
        return await import_run(repository, state, source, replace_settings, require)
    with _open_scratch(state) as scratch:
        archive = scratch / "archive.tar.gz"
        await archive_ref.read_archive_ref(repository.git, ref or "", archive)
        return await import_run(repository, state, archive, replace_settings, require)


def _require_closed_recipe(state: RunState) -> None:
    """Refuse a run whose recipe shows commands places of this machine: nobody here has allowed that."""
    recipe = state.migration.wished_recipe
    opened = list(iterate_exposed_paths(require_valid_recipe(recipe).env)) if recipe else []
    if opened:
        listing = ", ".join(f"{key} = {value!r}" for key, value in opened)
        raise UsageProblem(
            f"the run's recipe would show commands places of this machine by its [env] ({listing}); nothing was "
            "changed. Import it with --trust-settings if you trust who wrote it"
        )


def replace_foreign_settings(settings: Mapping[str, Any], own: Config | None = None) -> dict[str, Any]:
    """Return a run's settings with this user's own values where somebody else's may not hold.

    Those are what runs or reaches out as the user (hooks, notifications, pushes), whose commits are and what signs
    them, what the sandbox shows of this machine and of the checkout, where model calls and their keys go, and where
    prompts and the policy lie, which other agents and servers run, and where traces go. A worker whose engine the user
    does not have is the house's own. A tier may be lower than the user's own and never higher, and what is a secret for
    either of them is one. Without `own` the user's own are those of no project.
    """
    own_config = own or load_config(None).config
    own_values = own_config.model_dump(mode="json", by_alias=True)
    roles = {"default": _select_endpoint(own_values["roles"]["default"])}
    for name in filter(settings["roles"].__contains__, ROLE_NAMES):
        theirs, own_role = settings["roles"][name], own_values["roles"][name]
        inherited = _select_endpoint(getattr(own_config.roles, name).model_dump(mode="json"))
        roles[name] = _select_endpoint(own_role) | _spread_endpoint(theirs, inherited) | _lower_tier(theirs, own_role)
        roles[name] = merge_settings(roles[name], _replace_engines(theirs, own_config.engines))
    own_tables = {key: own_values[key] for key in _USER_TABLES}
    others = {key: value for key, value in settings.items() if key not in own_tables}
    outside = ("push", "forge", "url", "repository", "token_env", "checks_wait_s", "checks_poll_s", "merge")
    own_keys = {
        "pr": {key: own_values["pr"][key] for key in outside},
        "roles": roles,
        "commits": {key: own_values["commits"][key] for key in ("name", "email", "sign", "key", "co_author")},
        "env": {"share": own_values["env"]["share"]},
        "redact": {key: _unite(own_values["redact"][key], settings["redact"][key]) for key in own_values["redact"]},
    }
    return merge_settings(others, own_keys) | own_tables


def _select_endpoint(role: Mapping[str, Any]) -> dict[str, Any]:
    return {key: role[key] for key in ("api_base", "api_key_env", "fallbacks") if key in role}


def _lower_tier(foreign_values: Mapping[str, Any], own_values: Mapping[str, Any]) -> dict[str, Any]:
    if "tier" in foreign_values and "tier" in own_values:
        return {"tier": min(foreign_values["tier"], own_values["tier"])}
    return {}


def _replace_engines(role: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the house's own loop for a role and for each variant of it whose engine is not `known`."""
    replaced: dict[str, Any] = {}
    if role.get("engine", LOOP) not in (LOOP, *known):
        replaced["engine"] = LOOP
    for name, variant in role.get("variants", {}).items():
        if _replace_engines(variant, known):
            replaced.setdefault("variants", {})[name] = {"engine": LOOP}
    return replaced


def _unite(own_values: Sequence[str], foreign_values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*own_values, *foreign_values)))


def _spread_endpoint(role: Mapping[str, Any], endpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Return `endpoint` for all variants of a role, and for what its lenses name themselves: the rest they inherit."""
    variants = dict.fromkeys(role.get("variants", {}), endpoint)
    lenses = {}
    for lens, lens_values in role.get("lenses", {}).items():
        lenses[lens] = {key: value for key, value in endpoint.items() if key in lens_values}
    return {name: table for name, table in {"variants": variants, "lenses": lenses}.items() if table}


def list_foreign_settings(settings: Mapping[str, Any], *, trust_settings: bool = False) -> tuple[str, ...]:
    """Return the user-only settings that a resume would use though this user has not set them, as `key = value`."""
    if not trust_settings:
        settings = replace_foreign_settings(settings)
    own = dict(iterate_leaf_values(load_config(None).config.model_dump(mode="json", by_alias=True)))
    resumed = filter(lambda setting: is_user_only_key(setting[0]), _iterate_resumed_values(settings))
    return _list_differences(resumed, own)


def list_replaced_settings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an imported run's settings that do not count here, since only users may set them, as `key = value`."""
    kept = dict(iterate_leaf_values(replace_foreign_settings(settings)))
    return _list_differences(_iterate_resumed_values(settings), kept)


def _iterate_resumed_values(settings: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in iterate_leaf_values(settings):
        if key[0] not in _NOT_RESUMED:
            yield key, value


def _list_differences(
    values: Iterable[tuple[tuple[str, ...], Any]], others: Mapping[tuple[str, ...], Any]
) -> tuple[str, ...]:
    found = (f"{format_dotted_key(key)} = {json.dumps(value)}" for key, value in values if others.get(key) != value)
    return tuple(found)


def list_absent_paths(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return settings of an imported run that name files which this machine does not have, as `key = path`."""
    found = []
    for path in settings.get("hands", {}).get("read_only", ()):
        found.append(("hands.read_only", path))
    for role, values in settings.get("roles", {}).items():
        model = values.get("model", "")
        if model.startswith("scripted:"):
            found.append((f"roles.{role}.model", model.removeprefix("scripted:")))
    return tuple(f"{key} = {path}" for key, path in found if not Path(path).exists())


def _require_free(target: Path) -> None:
    if target.exists():
        raise UsageProblem(f"{target} exists: name another file, or replace it with --force")


@contextmanager
def _open_scratch(state: StateDirectory) -> Iterator[Path]:
    with open_session(state.path) as session:
        folder = session / "moving"
        folder.mkdir()
        yield folder
