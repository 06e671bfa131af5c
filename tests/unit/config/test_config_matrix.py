"""Every way in which five layers can stand above each other, and what `config show --origin` tells of it."""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli, main
from orchestrator.config.layers import get_defaults_path
from tests.golden import check_golden
from tests.running.projects import repository

ABOVE = ("user", "project", "environment", "flag")
"""The layers above the defaults, the lowest first."""
KEYS: Mapping[str, Mapping[str, Any]] = {
    "run.max_workers": {"user": 11, "project": 12, "environment": 13, "flag": 14},
    "gate.command": {"user": "u", "project": "p", "environment": "e", "flag": "f"},
    "gate.canaries": {"user": False, "project": True, "environment": False, "flag": True},
    "plan.max_depth": {"user": 1, "project": 2, "environment": 4, "flag": 5},
    "env.share": {"user": [".u"], "project": ["vendor"], "environment": [".e"], "flag": [".f"]},
}
"""A number, a text, a choice, a list: each with a value of its own in each layer."""
SETS = list(chain.from_iterable(combinations(ABOVE, size) for size in range(len(ABOVE) + 1)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("home")
    repository(root / "repo", {"a.txt": "a\n"})
    return root


@pytest.fixture
def home(whole: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home, in which they stand in a repository; no layer above the defaults says anything."""
    for name in [one for one in os.environ if one.startswith("ORCHESTRATE__")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(whole))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(whole / "repo")
    lay(whole, (), monkeypatch)
    return whole


def written(values: Mapping[str, Any]) -> str:
    """These keys as TOML, a line each."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def files_of(home: Path) -> dict[str, Path]:
    """The files of the layers that have one."""
    return {"user": home / ".config" / "orchestrate" / "config.toml", "project": home / "repo" / "orchestrate.toml"}


def lay(home: Path, layers: Collection[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have every key stand in each of these layers; the flags are given back."""
    for layer, path in files_of(home).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written({key: values[layer] for key, values in KEYS.items()} if layer in layers else {}))
    for key, values in KEYS.items():
        name = f"ORCHESTRATE__{key.upper().replace('.', '__')}"
        if "environment" in layers:
            monkeypatch.setenv(name, json.dumps(values["environment"]))
    flags = [f"{key}={json.dumps(values['flag'])}" for key, values in KEYS.items()] if "flag" in layers else []
    return [word for flag in flags for word in ("--set", flag)]


def shown(*words: str) -> dict[str, str]:
    """What `config show --origin` says of each key."""
    done = CliRunner().invoke(cli, ["config", "show", "--origin", *words])
    assert done.exception is None, done.exception
    return dict(line.split(" = ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("layers", SETS, ids=lambda layers: "+".join(layers) or "defaults")
def test_the_highest_layer_that_has_a_key_wins_and_is_named(
    home: Path, layers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = shown()
    told = shown(*lay(home, layers, monkeypatch))
    assert {key for key in told if told[key] != usual[key]} == ({*KEYS} if layers else set())
    for key, values in KEYS.items() if layers else ():
        value, _, origin = told[key].partition("  # ")
        assert (value, origin.partition(" ")[0]) == (repr(values[layers[-1]]), layers[-1])


def test_where_every_value_comes_from_is_shown_with_file_and_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = shown(*lay(home, ABOVE[:2], monkeypatch), "--set", "gate.command=f", "--set", "pr.target=main")
    of_files = {key: origin for key, value in told.items() if (origin := value.rpartition("  # ")[2]).count(":")}
    assert len(of_files) > 100
    for key, origin in of_files.items():
        path, _, line = origin.partition(" ")[2].rpartition(":")
        text = Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert re.match(rf"(.*\.)?{re.escape(key.rpartition('.')[2])}\b", text), f"{key} is not at {origin}: {text}"
    known = ((str(home), "HOME"), (str(get_defaults_path().parent), "SHIPPED"))
    lines = [
        f"{key} = {value}" for key, value in told.items() if not value.rpartition("  # ")[2].startswith("defaults")
    ]
    check_golden("config/origins.txt", "\n".join(_without(lines, known)) + "\n")


def _without(lines: list[str], places: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for line in lines:
        for place, name in places:
            line = line.replace(place, name)  # noqa: PLW2901
        yield line


def test_zero_is_no_budget_in_any_layer_and_unlimited_is_a_word(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user = files_of(home)["user"]
    user.write_text("[budget]\nusd = 5\n[budget.leaf]\ntokens = 0\n")
    assert_refused_budget(capsys, "config.toml:4: budget.leaf.tokens is 0", "no call could be made", '"unlimited"')
    user.write_text("[budget]\nusd = 5\n")
    assert_refused_budget(capsys, "the command line: budget.usd is 0", given=("--set", "budget.usd=0"))
    with pytest.raises(SystemExit):
        main(["config", "show", "--set", "budget.usd=unlimited"])
    assert "budget.usd = 'unlimited'" in capsys.readouterr().out
    monkeypatch.setenv("ORCHESTRATE__BUDGET__CALLS", "0")
    assert_refused_budget(capsys, "the environment (ORCHESTRATE_…): budget.calls is 0")


def assert_refused_budget(capsys: pytest.CaptureFixture[str], *said: str, given: tuple[str, ...] = ()) -> None:
    with pytest.raises(SystemExit) as left:
        main(["config", "show", *given])
    assert left.value.code == 2
    told = capsys.readouterr().err
    assert all(part in told for part in said), told


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("user", r"/\.config/orchestrate/config\.toml:2: unknown key run\.max_wokers; did you mean max_workers"),
        ("project", r"/repo/orchestrate\.toml:2: unknown key run\.max_wokers; did you mean max_workers"),
        ("environment", r"the environment \(ORCHESTRATE_…\): unknown key run\.max_wokers"),
        ("flag", r"the command line: unknown key run\.max_wokers"),
    ],
)
def test_an_unknown_key_is_told_by_its_place_and_by_what_was_perhaps_meant(
    home: Path, layer: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = files_of(home)
    files["project"].write_text("[roles.worker]\ntier = 0\n")
    if layer in files:
        files[layer].write_text("[run]\nmax_wokers = 3\n")
    if layer == "environment":
        monkeypatch.setenv("ORCHESTRATE__RUN__MAX_WOKERS", "3")
    with pytest.raises(SystemExit) as left:
        main(["config", "show", *(("--set", "run.max_wokers=3") if layer == "flag" else ())])
    assert left.value.code == 2
    assert re.search(said, capsys.readouterr().err)
