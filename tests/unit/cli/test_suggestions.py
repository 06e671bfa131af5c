"""Words of the command line that were mistyped: the message names what may have been meant."""

from pathlib import Path

import pytest

from tests.running.in_process import orchestrate


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("statsu",), "Did you mean 'status'?"),
        (("migrate", "statsu"), "Did you mean 'status'?"),
        (("criterion", "ad"), "Did you mean 'add'?"),
        (("status", "--jsn"), "Did you mean '--json'?"),
    ],
)
def test_a_mistyped_verb_or_option_names_the_one_that_is_like_it(
    tmp_path: Path, words: tuple[str, ...], meant: str
) -> None:
    refused = orchestrate(*words, cwd=tmp_path)
    assert (refused.code, meant in refused.err) == (2, True)
