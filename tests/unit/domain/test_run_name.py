"""The names that people give runs: safe in names of files and refs, and never mistaken for something else."""

import pytest

from orchestrator.domain.run_name import explain_bad_name


@pytest.mark.parametrize("name", ["nightly", "issue-12", "a1", "v2.1_docs", "decade", "x" * 40])
def test_a_run_can_be_called_by_a_word(name: str) -> None:
    assert explain_bad_name(name) == ""


@pytest.mark.parametrize("name", ["latest", "all", "root", "q1", "q12"])
def test_a_word_that_means_something_else_is_no_name(name: str) -> None:
    assert "means something else" in explain_bad_name(name)


def test_what_could_be_the_end_of_an_id_is_no_name() -> None:
    assert "could be the end of the id of another run" in explain_bad_name("beef")


@pytest.mark.parametrize(
    "name",
    ["", "a", "A1", "2nd", "20261120-101705-7f3a", "-x", "x-", "a/b", "a b", "a..b", "a.lock", "x" * 41, "ä1", "a\nb"],
)
def test_a_name_is_safe_in_refs_and_files_and_short(name: str) -> None:
    assert "is no name of a run: 2 to 40" in explain_bad_name(name)
