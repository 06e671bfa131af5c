"""Prompts of a directory instead of the shipped ones, by name."""

from pathlib import Path

import pytest

from prompts import SHIPPED_PROMPTS, PromptError, PromptSource, load_prompt
from prompts.loader import list_prompt_names

ROOT = Path(__file__).parents[3] / "prompts"


def write(directory: Path, name: str, like: str = "", more: str = "") -> Path:
    (directory / f"{name}.md").write_text((ROOT / f"{like or name}.md").read_text() + more)
    return directory


def test_the_shipped_source_gives_the_shipped_prompts() -> None:
    assert {SHIPPED_PROMPTS.load_prompt(name).sha for name in list_prompt_names()} == {
        load_prompt(name).sha for name in list_prompt_names()
    }


def test_a_directory_replaces_what_it_has_and_the_rest_stays(tmp_path: Path) -> None:
    source = PromptSource.from_directory(write(tmp_path, "judge", more="Be strict.\n"))
    assert source.load_prompt("judge").render_text().endswith("Be strict.\n")
    assert source.load_prompt("judge").sha != load_prompt("judge").sha
    assert source.load_prompt("worker") is load_prompt("worker")
    assert set(source.replaced) == {"judge"}


def test_only_wanted_prompts_are_replaced(tmp_path: Path) -> None:
    write(write(tmp_path, "judge", more="x"), "worker", more="x")
    source = PromptSource.from_directory(tmp_path, lambda name: name == "worker")
    assert set(source.replaced) == {"worker"}


@pytest.mark.parametrize(
    ("name", "like", "said"),
    [("jugde", "judge", "no prompt 'jugde'"), ("worker-again", "judge", r"takes the inputs \[\]; it has to take")],
)
def test_a_file_that_fits_no_prompt_is_refused(tmp_path: Path, name: str, like: str, said: str) -> None:
    with pytest.raises(PromptError, match=said):
        PromptSource.from_directory(write(tmp_path, name, like))


def test_a_directory_without_prompts_is_told_what_it_may_hold(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"replaces no prompt: it may hold .*judge\.md"):
        PromptSource.from_directory(tmp_path)
    with pytest.raises(PromptError, match="cannot be read: No such file"):
        PromptSource.from_directory(tmp_path / "missing")
