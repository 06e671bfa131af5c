"""The same small project under gates of every kind: one file of operations, and tests for each operation it has."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

PARAMETERS = {"add": "a, b", "double": "a", "odd": "a"}
GREEN = {"add": "a + b", "double": "a + a"}
RED = GREEN | {"odd": "a"}
"""On this base the test of `odd` fails."""


@dataclass(frozen=True)
class Kind:
    """A gate. `test_id` names the test of an operation; empty where the gate tells only its exit code.

    `needs` is a program that may not be installed, `reporter` one of node's.
    """

    name: str
    command: str
    report: str
    files: Mapping[str, str]
    test_id: str = ""
    source: str = "ops.py"
    needs: str = ""
    reporter: str = ""

    def operations(self, bodies: Mapping[str, str]) -> str:
        """The source file that has these operations."""
        if self.source.endswith(".js"):
            lines = [f"  {name}: ({PARAMETERS[name]}) => {body},\n" for name, body in bodies.items()]
            return f"module.exports = {{\n{''.join(lines)}}};\n"
        lines = [f'    "{name}": lambda {PARAMETERS[name]}: {body},\n' for name, body in bodies.items()]
        return f"OPERATIONS = {{\n{''.join(lines)}}}\n"


KNOWN = 'KNOWN = {"add": ((1, 2), 3), "double": ((4,), 8), "odd": ((1,), 2)}\n'
_PYTEST = f"""import pytest

from ops import OPERATIONS

{KNOWN}

@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operation(name):
    given, wanted = KNOWN[name]
    assert OPERATIONS[name](*given) == wanted
"""
_UNITTEST = f"""import unittest

from ops import OPERATIONS

{KNOWN}

class OpsTest(unittest.TestCase):
    pass


def _test_of(name):
    given, wanted = KNOWN[name]
    return lambda self: self.assertEqual(OPERATIONS[name](*given), wanted)


for name in OPERATIONS:
    setattr(OpsTest, f"test_{{name}}", _test_of(name))
"""
_TAP = f"""import sys

from ops import OPERATIONS

{KNOWN}
print("TAP version 13")
failed = 0
for number, name in enumerate(OPERATIONS, start=1):
    given, wanted = KNOWN[name]
    got = OPERATIONS[name](*given)
    failed += got != wanted
    print(f"# {{name}}")
    print(f"{{'not ' * (got != wanted)}}ok {{number}} gives what is known")
    if got != wanted:
        print(f"  ---\\n    operator: equal\\n    expected: {{wanted}}\\n    actual:   {{got}}\\n  ...")
print(f"\\n1..{{len(OPERATIONS)}}\\n# tests {{len(OPERATIONS)}}\\n# pass  {{len(OPERATIONS) - failed}}")
sys.exit(failed > 0)
"""
_SILENT = f"""from ops import OPERATIONS

{KNOWN}
assert all(OPERATIONS[name](*KNOWN[name][0]) == KNOWN[name][1] for name in OPERATIONS)
"""
_NODE = """const test = require("node:test");
const assert = require("node:assert");
const operations = require("./ops");

const known = { add: [[1, 2], 3], double: [[4], 8], odd: [[1], 2] };
for (const name of Object.keys(operations)) {
  const [given, wanted] = known[name];
  test(name, () => assert.strictEqual(operations[name](...given), wanted));
}
"""
TAPE = """const test = require("tape");
const operations = require("./ops");

const known = { add: [[1, 2], 3], double: [[4], 8], odd: [[1], 2] };
for (const name of Object.keys(operations)) {
  const [given, wanted] = known[name];
  test(name, (t) => {
    t.equal(operations[name](...given), wanted, "gives what is known");
    t.end();
  });
}
"""

PYTEST = Kind(
    "pytest",
    f"{sys.executable} -m pytest -q -p no:cacheprovider",
    "auto",
    {"test_ops.py": _PYTEST},
    "test_ops::test_operation[{}]",
)
KINDS = (
    PYTEST,
    Kind("unittest", "python3 -m unittest -v", "unittest", {"test_ops.py": _UNITTEST}, "test_ops.OpsTest.test_{}"),
    Kind("tap", "python3 test_ops.py", "tap", {"test_ops.py": _TAP}, "{} > gives what is known"),
    Kind("node-tap", "node --test --test-reporter=tap", "tap", {"ops.test.js": _NODE}, "{}", "ops.js", "node", "tap"),
    Kind("exit-code", "python3 test_ops.py", "exit-code", {"test_ops.py": _SILENT}),
)
NODE_JUNIT = Kind(
    "node-junit",
    "node --test --test-reporter=junit --test-reporter-destination={report}",
    "junit",
    {"ops.test.js": _NODE},
    "test::{}",
    "ops.js",
    "node",
    "junit",
)
