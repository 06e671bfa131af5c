"""`SECURITY.md` says which test makes which attack: the table and the tests are held together here.

After a change, `UPDATE_GOLDEN=1` writes the last column anew; read it before it is committed.
"""

import os
import re

from tests.security.marks import TESTS, attack_tests

TABLE = TESTS.parent / "SECURITY.md"
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| (.*) \|$", re.MULTILINE)


def cell(tests: list[str]) -> str:
    """The tests of an attack as the table has them, each file once."""
    by_file: dict[str, list[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        by_file.setdefault(file.removeprefix("tests/"), []).append(name.removeprefix("test_"))
    return "<br>".join(f"[{file}](tests/{file}): {', '.join(names)}" for file, names in sorted(by_file.items()))


def test_every_attack_has_a_row_and_a_test() -> None:
    numbers = [int(row[1]) for row in ROW.finditer(TABLE.read_text(encoding="utf-8"))]
    assert numbers == sorted(set(numbers))
    assert numbers == list(attack_tests())


def test_the_table_names_exactly_the_tests_that_there_are() -> None:
    text, found = TABLE.read_text(encoding="utf-8"), attack_tests()
    expected = {number: cell(tests) for number, tests in found.items()}
    if os.environ.get("UPDATE_GOLDEN"):
        text = ROW.sub(lambda row: f"| {row[1]} | {row[2]} | {row[3]} | {expected[int(row[1])]} |", text)
        TABLE.write_text(text, encoding="utf-8")
    rows = {int(row[1]): row for row in ROW.finditer(text)}
    assert {number: row[4] for number, row in rows.items()} == expected
    assert all(row[2].strip() and row[3].strip() for row in rows.values())
