"""Files in which only names were exchanged, the same ones everywhere, are told from all others."""

import pytest

from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.mechanical_changes import find_mechanical_files
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.whole_change import check_change_size
from tests.unit.judge.changes import changed

USES = "from shop import total\n\n\ndef pay(cart):\n    return total(cart.prices, cart.tax) + total(cart.gifts, 0)\n"
RENAMED = USES.replace("total", "sum_of_prices")
LAID_OUT = RENAMED.replace("(cart.prices, cart.tax)", "(\n        cart.prices, cart.tax\n    )")


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ([changed("a.py", USES, RENAMED)], {"a.py"}),
        ([changed("a.py", USES, LAID_OUT)], {"a.py"}),
        (
            [
                changed("a.js", "total(1); total(2);", "sum_of_prices(1); sum_of_prices(2);"),
                changed("a.py", USES, RENAMED),
            ],
            {"a.py", "a.js"},
        ),
        ([changed("a.py", USES, None), changed("b/a.py", None, RENAMED)], {"a.py", "b/a.py"}),
        ([changed("a.py", USES, RENAMED.replace(", 0)", ", 1)"))], set()),
        ([changed("a.py", USES, RENAMED.replace("gifts", "prices"))], set()),
        ([changed("a.py", USES, USES.replace("total(cart.g", "other(cart.g"))], set()),
        ([changed("a.py", USES, RENAMED + "x = 1\n")], set()),
        ([changed("a.bin", b"\0total", b"\0sum")], set()),
    ],
)
def test_a_consistent_renaming_is_found_and_nothing_else(files: list[ChangedFile], found: set[str]) -> None:
    assert find_mechanical_files(files) == found


def test_what_a_renaming_a_generator_or_data_fill_does_not_count_against_the_size() -> None:
    renamed, other = changed("a.py", USES, RENAMED), changed("b.py", "x = 1\n", "y = 2 + x\n")
    sizes = {"a.py": 9_000, "b.py": 9_000, "data.csv": 9_000}
    table = changed("data.csv", None, "1,2\n")
    (flag,) = check_change_size(ChangeFacts([renamed, table], sizes={"a.py": 9_000, "data.csv": 9_000}))
    assert (flag.is_blocking, flag.text) == (False, "only names were exchanged, the same everywhere: a.py")
    (flag,) = check_change_size(ChangeFacts([other], sizes={"b.py": 9_000}, regenerated_files=frozenset({"b.py"})))
    assert (flag.is_blocking, flag.text) == (False, "the task's command makes these files just so: b.py")
    (red,) = check_change_size(ChangeFacts([renamed, other, table], sizes=sizes))
    assert red.is_blocking
    assert red.text.startswith("9000 changed lines, 18000 of data, lock and generated files not counted")
