"""`orchestrate prompts`: which prompts are in force, what they say, and how they differ from the shipped ones."""

import json
import shutil
from pathlib import Path

import pytest

from orchestrator.config.layers import load_config
from orchestrator.errors import UsageProblem
from prompts.loader import list_prompt_names
from tests.running.cli import Finished
from tests.running.in_process import orchestrate

SHIPPED = Path(__file__).parents[2] / "prompts"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with a worker's prompt of the user's own."""
    place = tmp_path / "mine"
    place.mkdir()
    shutil.copy(SHIPPED / "worker.md", place)
    with (place / "worker.md").open("a") as file:
        file.write("Be kind.\n")
    return place


def prompts(own: Path, *words: str) -> Finished:
    return orchestrate("prompts", *words, "--set", f"prompts.dir={own}", cwd=own.parent)


def test_all_prompts_are_listed_with_version_and_source(own: Path) -> None:
    rows = json.loads(prompts(own, "show", "--json").out)["prompts"]
    assert [row["name"] for row in rows] == list_prompt_names()
    assert {row["name"]: row["source"] for row in rows if row["source"] != "shipped"} == {"worker": f"{own}/worker.md"}
    assert all(row["version"] > 0 and len(row["sha"]) == 12 for row in rows)


def test_a_prompt_is_shown_as_it_is_in_force_and_can_be_used_as_it_is_printed(own: Path) -> None:
    assert prompts(own, "show", "worker").out == (own / "worker.md").read_text()
    assert prompts(own, "show", "judge").out == (SHIPPED / "judge.md").read_text()


def test_differences_are_shown_from_the_shipped_prompt_to_the_users(own: Path) -> None:
    done = prompts(own, "diff")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"--- shipped/worker.md\n+++ {own}/worker.md\n@@")
    assert [line for line in done.out.splitlines()[2:] if line.startswith(("+", "-"))] == ["+Be kind."]
    assert json.loads(prompts(own, "diff", "worker", "--json").out)["prompts"] == [{"name": "worker", "diff": done.out}]


def test_where_nothing_differs_nothing_is_printed(own: Path) -> None:
    assert (prompts(own, "diff", "judge").code, prompts(own, "diff", "judge").out) == (0, "")
    assert orchestrate("prompts", "diff", cwd=own.parent).out == ""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("wroker.md", "---\nversion: 1\ninputs:\n---\nx\n", "there is no prompt 'wroker'"),
        ("judge.md", "You are a judge.\n", "does not begin with front matter"),
        ("judge.md", "---\nversion: 1\ninputs: gate\n---\n{{gate}}\n", "takes the inputs ['gate']; it has to take []"),
        ("worker.md", "---\nversion: 1\ninputs: tools\n---\n{{tools}}\n", "it has to take ['gate', 'tools']"),
        ("judge.md", "---\nversion: x\ninputs:\n---\nx\n", "version is missing or no number"),
    ],
)
def test_a_directory_with_a_prompt_that_does_not_fit_is_refused(own: Path, name: str, text: str, said: str) -> None:
    (own / name).write_text(text)
    done = prompts(own, "show")
    assert done.code == 2
    assert "dir under [prompts]: " in done.err
    assert said in done.err


def test_an_unknown_name_is_refused_with_those_that_there_are(own: Path) -> None:
    done = prompts(own, "show", "wroker")
    assert (done.code, done.out) == (2, "")
    assert "there is no prompt 'wroker'" in done.err
    assert "worker-again" in done.err


def test_a_directory_has_to_be_named_from_the_root_or_the_home() -> None:
    with pytest.raises(UsageProblem, match="absolute path or begin with ~"):
        load_config(None, {"prompts": {"dir": "mine"}}, environ={})


def test_instructions_have_a_limit() -> None:
    words = {"roles": {"worker": {"instructions": "x" * 8_001}}}
    with pytest.raises(UsageProblem, match=r"roles\.worker\.instructions"):
        load_config(None, words, environ={})
