"""The table of what stands for its kind in `make test` names tests that there are."""

import ast

from tests.golden import DATA
from tests.running.representatives import REPRESENTATIVES


def test_every_representative_is_a_test_that_there_is() -> None:
    for name in REPRESENTATIVES:
        file, *path = name.split("::")
        body: list[ast.stmt] = ast.parse((DATA.parent / file).read_text(encoding="utf-8")).body
        for word in path:
            found = [
                node
                for node in body
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == word
            ]
            assert found, f"tests/running/representatives.py names {name}, which is not there"
            marks = [ast.unparse(decorator) for decorator in found[0].decorator_list]
            assert "pytest.mark.extended" not in marks, f"{name} is named there and never runs: take its mark off"
            body = found[0].body
