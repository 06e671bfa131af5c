"""The functions of a test file, each with all that it runs for: its body once for every case that is written out."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from orchestrator.judge.evolution.inherited_tests import is_test_method, list_heirs
from orchestrator.judge.evolution.normal_form import (
    collect_assertions,
    dump_statements,
    loosen_body,
    normalize_body,
)
from orchestrator.judge.source.python_syntax import find_nodes, get_last_name, list_elements, parse_python
from orchestrator.judge.source.testcases import TestFunction, list_test_functions

_MAX_CASES = 400
_SKIPS = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure"})
_Values = Mapping[str, ast.expr]


@dataclass(frozen=True)
class TestCase:
    """One case of a function: its body with the case's values in it.

    `body` is all that it does, `loose_body` and `assertions` leave out where things lie.
    """

    __test__ = False  # pytest would take it for a test class

    body: tuple[str, ...]
    loose_body: tuple[str, ...]
    assertions: Counter[str]

    def covers_assertions(self, other: "TestCase") -> bool:
        """Return True if it asserts all that another case does; of one without assertions, does all that it does."""
        if other.assertions:
            return not other.assertions - self.assertions
        rest = iter(self.loose_body)
        return all(statement in rest for statement in other.loose_body)


@dataclass(frozen=True)
class EvolvingTest:
    """A function of a test file with the module around it."""

    function: TestFunction
    module: ast.Module

    @property
    def key(self) -> tuple[str, str]:
        """Its file, and its name with its classes before it."""
        return self.function.path, self.function.name

    @property
    def last_name(self) -> str:
        """Its name alone."""
        return self.function.last_name

    @property
    def is_collected(self) -> bool:
        """True if a runner takes it for a test, in its class or in one of its file that inherits it."""
        return self.function.is_collected or self._is_inherited

    @property
    def runs_elsewhere(self) -> bool:
        """True if it is a test by its name, and only classes of other files that inherit it can run it."""
        return not self.is_collected and is_test_method(self.function.name)

    @cached_property
    def is_counted(self) -> bool:
        """True if its cases are written out, so that they can be told from each other."""
        return self._parameter_sets is not None

    @cached_property
    def marks(self) -> Counter[str]:
        """The marks that may skip it or expect it to fail, of its cases as well."""
        marks = Counter(self.function.marks)
        for decorator in self.function.node.decorator_list:
            if get_last_name(decorator) == "parametrize":
                names = map(get_last_name, find_nodes(decorator, ast.Attribute))
                marks.update(name for name in names if name in _SKIPS)
        return marks

    @cached_property
    def decorators(self) -> frozenset[str]:
        """Its decorators but for parameters, as texts."""
        found = set()
        for decorator in self.function.node.decorator_list:
            if get_last_name(decorator) != "parametrize":
                found.add(ast.dump(decorator))
        return frozenset(found)

    @cached_property
    def cases(self) -> tuple[TestCase, ...]:
        """Every case that is written out; one without values where they are not."""
        found = []
        for values in self._parameter_sets or ({},):
            body = normalize_body(self.function.node, values)
            exact = dump_statements(body)
            loose = loosen_body(body, self.module)
            found.append(TestCase(exact, dump_statements(loose), collect_assertions(loose)))
        return tuple(found)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """The names, attributes and words that its code uses."""
        names = {node.id for node in find_nodes(self.function.node, ast.Name)}
        names.update(node.attr for node in find_nodes(self.function.node, ast.Attribute))
        for constant in find_nodes(self.function.node, ast.Constant):
            if isinstance(constant.value, str):
                names.update((constant.value, constant.value.rpartition(".")[2]))
        names.update(argument.arg for argument in find_nodes(self.function.node, ast.arg))
        return frozenset(names)

    @cached_property
    def used_keywords(self) -> frozenset[str]:
        """The names of the arguments that its calls name."""
        return frozenset(keyword.arg for keyword in find_nodes(self.function.node, ast.keyword) if keyword.arg)

    @cached_property
    def _is_inherited(self) -> bool:
        return bool(list_heirs(self.key, [(self.function.path, self.module)]))

    @cached_property
    def _parameter_sets(self) -> tuple[_Values, ...] | None:
        """The values of each case by name; None if they are not written out, or too many."""
        tables = []
        for decorator in self.function.node.decorator_list:
            if get_last_name(decorator) == "parametrize":
                table = _read_table(decorator, self.module)
                if table is None:
                    return None
                tables.append(table)
        count = 1
        for table in tables:
            count *= len(table)
        if count > _MAX_CASES:
            return None
        sets = []
        for rows in product(*tables):
            values: dict[str, ast.expr] = {}
            for row in rows:
                values.update(row)
            sets.append(values)
        return tuple(sets)


def read_test_file(path: str, content: bytes | None) -> list[EvolvingTest]:
    """Return the functions of a test file in their order; none if it cannot be read as Python. Blocks."""
    tree = parse_python(content or b"")
    if tree is None:
        return []
    return [EvolvingTest(function, tree) for function in list_test_functions(path, tree)]


def _read_table(decorator: ast.expr, module: ast.Module) -> list[_Values] | None:
    """Return the values that one `parametrize` gives, row by row; None if they are not written out."""
    if not isinstance(decorator, ast.Call):
        return None
    given = list(decorator.args)
    for keyword in decorator.keywords:
        if keyword.arg in {"argnames", "argvalues"}:
            given.append(keyword.value)
    if len(given) < 2:
        return None
    names, rows = _read_argument_names(given[0]), _find_written_list(given[1], module)
    if not names or rows is None:
        return None
    table: list[_Values] = []
    for row in rows:
        values = _read_row(row, len(names))
        if values is None:
            return None
        table.append(dict(zip(names, values, strict=True)))
    return table


def _read_argument_names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    names = []
    for element in list_elements(node):
        if isinstance(element, ast.Constant) and isinstance(element.value, str):
            names.append(element.value)
    return names


def _find_written_list(node: ast.expr, module: ast.Module) -> Sequence[ast.expr] | None:
    """Return the elements of a list that is written there, or at the top of the module under a name."""
    if isinstance(node, ast.Name):
        named = list(_iterate_values_of(node.id, module))
        node = named[0] if len(named) == 1 else node
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(part, ast.Starred) for part in node.elts):
        return node.elts
    return None


def _iterate_values_of(name: str, module: ast.Module) -> Iterator[ast.expr]:
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=known)], value=value) if known == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=known), value=ast.expr() as value) if known == name:
                yield value


def _read_row(row: ast.expr, count: int) -> Sequence[ast.expr] | None:
    """Return the values of one case: as they stand there, in a tuple, or in `pytest.param`."""
    if isinstance(row, ast.Call) and get_last_name(row) == "param":
        values: Sequence[ast.expr] = row.args
    elif count == 1:
        return [row]
    else:
        values = list_elements(row)
    return values if len(values) == count else None
