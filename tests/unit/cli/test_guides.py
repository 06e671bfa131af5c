"""What the guides name is there: verbs with their options, files, rooms."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from orchestrator.cli.main import cli
from orchestrator.cli.run.transfer import export_command, import_command

ROOT = Path(__file__).parents[3]
GUIDES = sorted(
    path.relative_to(ROOT) for path in (*ROOT.glob("*.md"), ROOT / "config.toml", *(ROOT / "docs").rglob("*.md"))
)
_CALL = re.compile(r"\borchestrate ((?:[a-z][a-z-]*)(?: [^`|#]*)?)")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def verbs(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every verb, groups of verbs too, by the words that it is called by."""
    yield path, command
    for name in command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ():
        below = command.get_command(click.Context(command), name)
        assert below is not None
        yield from verbs(below, f"{path} {name}".strip())


VERBS = {**dict(verbs(cli)), "run export": export_command, "run import": import_command}


def wrong(called: str) -> Iterator[str]:
    """What of a call there is not; after `--`, in quotes and after two spaces nothing is looked at."""
    words = re.sub(r"\"[^\"]*\"|'[^']*'", "X", re.split(r" -- |  ", called)[0]).split()
    verb = " ".join(words[:2]) if " ".join(words[:2]) in VERBS else words[0]
    if verb not in VERBS:
        yield verb
        return
    known = {name for option in VERBS[verb].params for name in (*option.opts, "--help")}
    found = re.findall(r"(?<!\S)\[?(--[a-z-]+)", " ".join(words))
    yield from (f"{verb} {option}" for option in found if option not in known)


@pytest.mark.parametrize("guide", GUIDES, ids=str)
def test_a_guide_names_verbs_options_and_files_that_there_are(guide: Path) -> None:
    text = (ROOT / guide).read_text(encoding="utf-8")
    assert [problem for called in _CALL.findall(text) for problem in wrong(called)] == []
    links = {link for link in _LINK.findall(text) if not (ROOT / guide.parent / link).exists()}
    assert links == set()


def test_a_guide_that_names_what_there_is_not_is_noticed() -> None:
    assert [*wrong("fly --high"), *wrong("run export RUN --ref --hole"), *wrong("hands exec -- ls --all")] == [
        "fly",
        "run export --hole",
    ]


def test_contributors_are_told_of_every_room() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "orchestrator").glob("*/__init__.py")}
    assert {room for room in rooms if f" {room}/ " not in told} == set()
