"""Layers of configuration: defaults < user < project < environment < flags, and where each value came from."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.config.flag_values import parse_flag_value, set_nested_value
from orchestrator.config.model import Config, CriterionSettings
from orchestrator.config.toml_source import describe_toml_errors, find_key_line, format_dotted_key, read_toml
from orchestrator.domain.budget.limits import Limit
from orchestrator.domain.paths.credentials import SECRET_FILE_EXAMPLES
from orchestrator.domain.paths.dependencies import DEPENDENCY_PATTERNS, is_dependency_pattern
from orchestrator.domain.text.money import UNLIMITED
from orchestrator.errors import UsageProblem

PROJECT_FILE = "orchestrate.toml"
_PREFIX = "ORCHESTRATE__"
_USER_ONLY_KEYS = (
    *(("hands",), ("state",), ("approval",), ("budget",), ("prices",), ("retry",), ("providers",), ("gc",)),
    *(
        ("redact",),
        ("gate", "reuse_mb"),
        ("map", "mb"),
        ("pr", "checks_wait_s"),
        ("pr", "checks_poll_s"),
        ("run", "time_limit_s"),
    ),
    *(("roles", "*", "model"), ("roles", "*", "api_base"), ("roles", "*", "api_key_env"), ("roles", "*", "fallbacks")),
    *(("roles", "*", "instructions"), ("prompts",), ("policy",)),
    *(("roles", "*", "extra"), ("roles", "*", "reasoning_effort"), ("roles", "*", "engine")),
    *(("roles", "worker", "variants"), ("roles", "worker", "escalate_to"), ("roles", "judge", "lenses")),
)
_TIER = ("roles", "*", "tier")
_SHARE = ("env", "share")
_PR_OUTSIDE = tuple(("pr", key) for key in ("push", "forge", "url", "repository", "token_env", "merge"))
_COMMIT_IDENTITY = tuple(("commits", key) for key in ("name", "email", "sign", "key", "co_author"))
_PROJECT_FORBIDDEN_KEYS = (
    ("notify",),
    *_PR_OUTSIDE,
    *_COMMIT_IDENTITY,
    ("tui",),
    ("policy",),
    ("engines",),
    ("telemetry",),
    ("mcp",),
    ("hosts",),
)
"""Settings that act on this machine as the user, in the user's name, or with the user's credentials.

Trust in a repository does not extend to them.
"""
_FLAG_ONLY = ("hands", "without_sandbox")
"""The setting that holds for one run only and has to be given each time."""
_HOOKS, _CONTRACT = "hooks", "contract"
_ADDITIVE_LISTS = (_HOOKS, _CONTRACT)
"""The lists of which a later layer does not replace the earlier ones': nobody's hooks can be switched off by it, and
nothing that somebody asks for can be taken back.
"""
_NAMES_WITHOUT_FILE = {"flag": "the command line", "environment": "the environment (ORCHESTRATE_…)"}
"""What messages call a layer that is no file."""


@dataclass(frozen=True)
class ConfigLayer:
    """Values from one place; `source` is the text they were written in, for line numbers."""

    name: str
    values: Mapping[str, Any]
    path: Path | None = None
    source: str = ""

    @property
    def label(self) -> str:
        """The file, or what messages call a layer that is none."""
        return str(self.path or _NAMES_WITHOUT_FILE[self.name])

    def locate_key(self, key: tuple[str | int, ...]) -> str:
        """Return `FILE:LINE` of a key, `FILE` without its line, or the layer's label if it is no file."""
        if self.path is None:
            return self.label
        line = find_key_line(self.source, key)
        return f"{self.path}:{line}" if line else str(self.path)


@dataclass(frozen=True)
class LoadedConfig:
    """The resolved configuration, with the layer each value came from by its dotted key."""

    config: Config
    origins: Mapping[str, str]
    layers: tuple[ConfigLayer, ...]


def get_defaults_path() -> Path:
    """Return the path of the shipped config.toml: inside the package in a wheel, at the top of a checkout."""
    packaged = Path(__file__).parent.parent / "config.toml"
    if packaged.exists():
        return packaged
    return Path(__file__).parent.parent.parent / "config.toml"


def get_user_config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's own file, which may not exist."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "/")) / ".config")
    return Path(base) / "orchestrate" / "config.toml"


def load_config(
    repository: Path | None,
    flags: Mapping[str, Any] | None = None,
    *,
    trust_project: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> LoadedConfig:
    """Resolve all layers.

    Args:
        repository: top of the user's checkout, whose project file counts; None for no project.
        flags: nested values from the command line.
        trust_project: let the project's file set what only a user may set.
        environ: the process environment.

    Raises:
        UsageProblem: a file cannot be read, or a key or value is not allowed; names file and line.
    """
    layers = [_read_layer("defaults", get_defaults_path())]
    if get_user_config_path(environ).exists():
        layers.append(_read_layer("user", get_user_config_path(environ)))
    if repository and (repository / PROJECT_FILE).exists():
        project = _read_layer("project", repository / PROJECT_FILE)
        _refuse_per_run_key(project)
        _refuse_dangerous_keys(project)
        if not trust_project:
            _refuse_project_keys(project)
            _refuse_higher_tiers(project, layers)
            _refuse_foreign_shares(project)
            _refuse_wider_rules(project, layers)
            _refuse_wider_memory(project, layers)
        layers.append(project)
    layers.append(ConfigLayer("environment", _read_environment(environ)))
    for layer in layers:
        _refuse_per_run_key(layer)
    layers.append(ConfigLayer("flag", flags or {}))
    for layer in layers[1:]:
        refuse_zero_budgets(layer)
    return _resolve_layers(tuple(layers))


def read_project_criteria(repository: Path) -> tuple[CriterionSettings, ...]:
    """Return the criteria that the project's file asks for now; none without a usable file. Blocks."""
    path = repository / PROJECT_FILE
    try:
        own = read_toml(path).get(_CONTRACT, []) if path.exists() else []
        return tuple(map(CriterionSettings.model_validate, own))
    except (UsageProblem, ValidationError, TypeError):
        return ()


def _read_layer(name: str, path: Path) -> ConfigLayer:
    return ConfigLayer(name, read_toml(path), path, path.read_text(encoding="utf-8"))


def _resolve_layers(layers: tuple[ConfigLayer, ...]) -> LoadedConfig:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        _refuse_duplicate_criteria(values, origins, layer)
        before = {name: origins[name] for name in _ADDITIVE_LISTS if values.get(name)}
        _overlay_values(values, layer.values)
        origins |= {format_dotted_key(key): _find_origin(layer, key) for key, _ in iterate_leaf_values(layer.values)}
        origins |= {name: f"{origin}, {origins[name]}" for name, origin in before.items() if name in layer.values}
        _validate_layer(values, layer)
    return LoadedConfig(Config.model_validate(values), origins, layers)


def _validate_layer(values: Mapping[str, Any], layer: ConfigLayer) -> None:
    """Check after every layer, so that the layer at fault can be named; of lists its own, so that they are counted."""
    own = {**values, **{name: layer.values.get(name, []) for name in _ADDITIVE_LISTS}}
    try:
        Config.model_validate(own)
    except ValidationError as error:
        raise UsageProblem(describe_toml_errors(error, Path(layer.label), layer.source, Config)) from error


def _find_origin(layer: ConfigLayer, key: tuple[str, ...]) -> str:
    line = (find_key_line(layer.source, key) or find_key_line(layer.source, (*key, 0))) if layer.path else None
    return f"{layer.name} {layer.path}:{line}" if line else layer.name


def merge_settings(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `values` in which `over` wins, table by table; its hooks and criteria are added."""
    result: dict[str, Any] = {}
    _overlay_values(result, values)
    _overlay_values(result, over)
    return result


def _overlay_values(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    before = {name: into[name] for name in _ADDITIVE_LISTS if isinstance(into.get(name), list)}
    _merge_tables(into, values)
    for name, earlier in before.items():
        if isinstance(own := values.get(name), list):
            into[name] = [*earlier, *own]


def _merge_tables(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if not isinstance(value, Mapping):
            into[key] = value
            continue
        if not isinstance(into.get(key), dict):
            into[key] = {}
        _merge_tables(into[key], value)


def iterate_leaf_values(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value that is not a table, with its key."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from iterate_leaf_values(value, (*path, key))
        else:
            yield (*path, key), value


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in sorted(environ):
        if name.startswith(_PREFIX):
            set_nested_value(values, name.removeprefix(_PREFIX).lower().split("__"), parse_flag_value(environ[name]))
    return values


def _refuse_project_keys(layer: ConfigLayer) -> None:
    for key, _ in iterate_leaf_values(layer.values):
        if is_user_only_key(key):
            _raise_untrusted_key(layer, key, "may not be set by the repository being worked on")


def _raise_untrusted_key(layer: ConfigLayer, key: tuple[str, ...], problem: str) -> None:
    raise UsageProblem(
        f"{layer.locate_key(key)}: {format_dotted_key(key)} {problem}; put it into {get_user_config_path()} or start "
        "with --trust-project if you trust this repository"
    )


def _refuse_higher_tiers(project: ConfigLayer, below: Sequence[ConfigLayer]) -> None:
    """Refuse a role's tier that a project raises; it may lower one."""
    values = iterate_leaf_values(project.values)
    tiers = [(key, tier) for key, tier in values if _matches_pattern(_TIER, key) and isinstance(tier, int)]
    usual = _resolve_layers(tuple(below)).config.roles.model_dump() if tiers else {}
    for key, tier in tiers:
        if tier > usual.get(key[1], {}).get("tier", 0):
            _raise_untrusted_key(project, key, "may only be lowered by the repository being worked on")


def _refuse_wider_rules(project: ConfigLayer, below: Sequence[ConfigLayer]) -> None:
    """Refuse more room or more files for the project's rules than its user gives them; a project may take less."""
    wanted = project.values.get("rules")
    if not isinstance(wanted, Mapping):
        return
    usual = _resolve_layers(tuple(below)).config.rules
    max_chars, files = wanted.get("max_chars"), wanted.get("files")
    is_lower = isinstance(max_chars, int) and max_chars <= usual.max_chars
    if max_chars is not None and not is_lower:
        _raise_untrusted_key(project, ("rules", "max_chars"), "may only be lowered by the repository being worked on")
    if isinstance(files, list) and any(name not in usual.files for name in files):
        problem = f"may only name files of {', '.join(usual.files) or 'none'} in the repository being worked on"
        _raise_untrusted_key(project, ("rules", "files"), problem)


def _refuse_wider_memory(project: ConfigLayer, below: Sequence[ConfigLayer]) -> None:
    """Refuse a memory that a project switches on, or makes larger than its user wants; it may have less."""
    wanted = project.values.get("memory")
    if not isinstance(wanted, Mapping):
        return
    usual = _resolve_layers(tuple(below)).config.memory.model_dump()
    for name, value in wanted.items():
        known = usual.get(name)
        is_wider = isinstance(value, int) and isinstance(known, int) and value > known
        if is_wider or (name == "place" and value not in ("off", known)):
            _raise_untrusted_key(project, ("memory", name), "may only be lowered by the repository being worked on")


def _refuse_foreign_shares(project: ConfigLayer) -> None:
    """Refuse patterns by which a project would have more of the user's checkout shared than dependencies."""
    patterns = next((value for key, value in iterate_leaf_values(project.values) if key == _SHARE), ())
    for pattern in patterns if isinstance(patterns, list) else ():
        if isinstance(pattern, str) and (refused := describe_refused_share(pattern)):
            problem = f"may not share {refused} because the repository being worked on asks for it"
            places = f"but places of dependencies alone, such as {', '.join(DEPENDENCY_PATTERNS)}"
            _raise_untrusted_key(project, _SHARE, f"{problem}, {places}")


def describe_refused_share(pattern: str) -> str:
    """Return in words what a pattern of a repository's own would share although it may not; empty if it may."""
    if is_dependency_pattern(pattern):
        return ""
    secret = _find_matched_secret(pattern)
    if secret:
        return f"{secret} ({pattern!r})"
    return repr(pattern)


def _find_matched_secret(pattern: str) -> str | None:
    """Return an example of what usually holds secrets and would be shared by a pattern, for messages."""
    from pathspec import GitIgnoreSpec  # few projects share anything

    try:
        return next(GitIgnoreSpec.from_lines([pattern]).match_files(SECRET_FILE_EXAMPLES), None)
    except (ValueError, re.error):
        return None  # no pattern at all: whoever uses it says so


def _refuse_dangerous_keys(layer: ConfigLayer) -> None:
    """Refuse settings that a project may not have, however much it is trusted."""
    for key, _ in iterate_leaf_values(layer.values):
        if any(_matches_pattern(pattern, key) for pattern in _PROJECT_FORBIDDEN_KEYS):
            _raise_dangerous_key(layer, key, format_dotted_key(key))
    for number, hook in _iterate_entries(layer, _HOOKS):
        if hook.get("trusted"):
            _raise_dangerous_key(layer, (_HOOKS, number, "trusted"), "a trusted hook")


def _refuse_per_run_key(layer: ConfigLayer) -> None:
    """Refuse a setting that no file and no variable may switch on for all runs."""
    for key, value in iterate_leaf_values(layer.values):
        if key == _FLAG_ONLY and value:
            raise UsageProblem(
                f"{layer.locate_key(key)}: {format_dotted_key(key)} is per run: no file and no variable may set it; "
                "give --unsafe-no-sandbox to the run that is to go without a sandbox"
            )


def _refuse_duplicate_criteria(values: Mapping[str, Any], origins: Mapping[str, str], layer: ConfigLayer) -> None:
    """Refuse a criterion whose id an earlier layer gave to a different one; more criteria are allowed."""
    earlier = {entry["id"]: entry for entry in values.get(_CONTRACT, ())}
    for number, entry in _iterate_entries(layer, _CONTRACT):
        name = entry.get("id")
        if isinstance(name, str) and name in earlier and earlier[name] != entry:
            raise UsageProblem(
                f"{layer.locate_key((_CONTRACT, number, 'id'))}: contract[{number}].id: there is a criterion {name} "
                f"already ({origins[_CONTRACT]}); criteria of all files and flags add up: choose another id"
            )


def _iterate_entries(layer: ConfigLayer, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the tables of a list of tables with their numbers; nothing of what is no such list."""
    entries = layer.values.get(name)
    if isinstance(entries, list):
        yield from filter(lambda entry: isinstance(entry[1], Mapping), enumerate(entries))


def _raise_dangerous_key(layer: ConfigLayer, key: tuple[str | int, ...], subject: str) -> None:
    raise UsageProblem(
        f"{layer.locate_key(key)}: {subject} may not be set by the repository being worked on, "
        "because it acts as you outside the sandbox, or with your credentials; put it into "
        f"{get_user_config_path()} if you want it"
    )


def is_user_only_key(key: tuple[str, ...]) -> bool:
    """Return True if only a user may set a key, and no file that came with somebody else's work."""
    return any(_matches_pattern(pattern, key) for pattern in _USER_ONLY_KEYS)


def _matches_pattern(pattern: tuple[str, ...], key: tuple[str, ...]) -> bool:
    return len(key) >= len(pattern) and all(p in ("*", k) for p, k in zip(pattern, key, strict=False))


def refuse_zero_budgets(layer: ConfigLayer) -> None:
    """Refuse 0 as a budget: one reads it as no money, another as no limit.

    Raises:
        UsageProblem: a budget of the layer is 0.
    """
    budget = layer.values.get("budget")
    values = iterate_leaf_values({"budget": budget}) if isinstance(budget, Mapping) else ()
    for key, value in values:
        if key[-1] in Limit.model_fields and value == 0 and not isinstance(value, bool):
            raise UsageProblem(
                f"{layer.locate_key(key)}: {format_dotted_key(key)} is 0, with which no call could be made: "
                f'give an amount, or "{UNLIMITED}" for no limit'
            )
