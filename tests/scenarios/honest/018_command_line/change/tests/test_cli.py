import subprocess
import sys
from pathlib import Path

import pytest

from till.cli import main


def test_the_sum_is_printed(capsys):
    assert main(["3", "4"]) == 0
    assert capsys.readouterr().out == "7\n"


def test_words_are_no_prices():
    with pytest.raises(SystemExit) as left:
        main(["x"])
    assert left.value.code == 2


def test_nothing_is_an_error_in_a_process_of_its_own():
    where = Path(__file__).parents[1] / "src"
    done = subprocess.run([sys.executable, "-m", "till"], cwd=where, capture_output=True)
    assert done.returncode == 2
