"""Gates of other languages by their real runners: what breaks a test is named, the honest lands.

Nothing that lies in the user's checkout is written to.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from tests.running.goals import Bench, status
from tests.running.projects import repository
from tests.running.scripts import judges, planner_is_done, plans, reviews, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]

_OPS_JS = "module.exports = {{ add: (a, b) => {add}, double: (a) => a + a }};\n"
_TEST_JS = """{head}
describe("operations", () => {{
  test("add", () => {{ {check}(operations.add(1, 2), 3); }});
  test("double", () => {{ {check}(operations.double(4), 8); }});
}});
"""
_MOCHA = 'const test = it;\nconst operations = require("./ops");'
_EXPECT = "((got, wanted) => expect(got).toBe(wanted))"
_REQUIRE = 'const operations = require("./ops");'
_IMPORT = (
    'import { createRequire } from "module";\nimport { describe, expect, test } from "vitest";\n'
    'const operations = createRequire(import.meta.url)("./ops.js");'
)
_GO_TEST = """package ops

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("wrong")
	}
}

func TestDouble(t *testing.T) {
	if Double(4) != 8 {
		t.Fatal("wrong")
	}
}
"""
_RUST_TEST = """#[test]
fn add() { assert_eq!(ops::add(1, 2), 3); }
#[test]
fn double() { assert_eq!(ops::double(4), 8); }
"""
_C = """#include <Python.h>
static PyObject *add(PyObject *self, PyObject *args) {{
    long a, b;
    if (!PyArg_ParseTuple(args, "ll", &a, &b)) return NULL;
    return PyLong_FromLong({add});
}}
static PyMethodDef methods[] = {{{{"add", add, METH_VARARGS, ""}}, {{NULL, NULL, 0, NULL}}}};
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "fast", "", -1, methods}};
PyMODINIT_FUNC PyInit_fast(void) {{ return PyModule_Create(&module); }}
"""
_MAKEFILE = f"fast.so: fast.c\n\tgcc -shared -fPIC -I{sysconfig.get_paths()['include']} -o $@ $<\n"
_C_TEST = """import unittest

import fast


class FastTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(fast.add(1, 2), 3)
"""


@dataclass(frozen=True)
class Gate:
    """A project with a gate; `source` is what is changed, in which `{add}` is the sum of a and b."""

    name: str
    command: str
    source: str
    text: str
    files: Mapping[str, str]
    test_id: str
    program: str
    packages: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    built: str = ""


GATES = (
    Gate(
        "c-extension", f"make -s && {sys.executable} -m unittest -v", "fast.c", _C,
        {"Makefile": _MAKEFILE, "test_fast.py": _C_TEST}, "test_fast.FastTest.test_add", "gcc",
        shared=("*.so",), built="make",
    ),
    Gate(
        "go", "go test ./...", "ops.go",
        "package ops\n\nfunc Add(a, b int) int {{ return {add} }}\n\nfunc Double(a int) int {{ return a + a }}\n",
        {"go.mod": "module example.org/ops\n\ngo 1.19\n", "ops_test.go": _GO_TEST}, "example.org/ops::TestAdd", "go",
    ),
    Gate(
        "cargo", "cargo test --offline", "src/lib.rs",
        "pub fn add(a: i32, b: i32) -> i32 {{ {add} }}\npub fn double(a: i32) -> i32 {{ a + a }}\n",
        {
            "Cargo.toml": '[package]\nname = "ops"\nversion = "0.1.0"\nedition = "2021"\n',
            "Cargo.lock": 'version = 3\n\n[[package]]\nname = "ops"\nversion = "0.1.0"\n',
            "tests/ops.rs": _RUST_TEST,
        },
        "ops tests/ops.rs::add", "cargo",
    ),
    Gate(
        "jest", "npx jest", "ops.js", _OPS_JS,
        {"ops.test.js": _TEST_JS.format(head=_REQUIRE, check=_EXPECT)}, "ops.test.js > operations > add", "npm",
        ("jest@29",),
    ),
    Gate(
        "vitest", "npx vitest run", "ops.js", _OPS_JS,
        {
            "ops.test.mjs": _TEST_JS.format(head=_IMPORT, check=_EXPECT),
            "vitest.config.mjs": "export default { test: { environment: 'node' } };\n",
        },
        "ops.test.mjs > operations > add", "npm", ("vitest@3",),
    ),
    Gate(
        "mocha", "npx mocha ops.test.js", "ops.js", _OPS_JS,
        {
            "ops.test.js": _TEST_JS.format(head=_MOCHA, check='require("assert").strictEqual'),
        },
        "operations > add", "npm", ("mocha@10",),
    ),
)  # fmt: skip


def prepare(place: Path, gate: Gate) -> Bench:
    """Make the project as its user has it: packages installed, what is compiled built; skip without the tools."""
    if shutil.which(gate.program) is None:
        pytest.skip(f"{gate.program} is not installed")
    ignored = {".gitignore": "*.so\nnode_modules/\ntarget/\n__pycache__/\n"}
    package = {"package.json": '{"private": true}\n'} if gate.packages else {}
    files = {gate.source: gate.text.format(add="a + b"), **gate.files, **ignored, **package}
    root = repository(place / "repo", files)
    if gate.packages:
        words = ["npm", "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", *gate.packages]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            pytest.skip(f"needs an npm registry: {done.stderr[-300:]}")
    if gate.built:
        subprocess.run(gate.built, cwd=root, shell=True, check=True)
    return Bench(place, root)


def read_only(gate: Gate) -> list[str]:
    if gate.program != "cargo":
        return [sys.prefix]
    found = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("rustc is not installed")
    return [found.stdout.strip()]


def list_ignored_files(root: Path) -> dict[str, int]:
    """The user's own files that git ignores, each with the time of its last change."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if ".git" not in path.relative_to(root).parts:
                found[path.relative_to(root).as_posix()] = path.lstat().st_mtime_ns
    return found


def told(ended: RunExit, name: str) -> str:
    return "\n".join(ended.state.tasks[TaskId(name)].verdicts[-1].verdict.reasons)


@pytest.mark.registry
@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
async def test_a_wrong_change_is_red_by_its_test_and_a_right_one_lands(tmp_path: Path, gate: Gate) -> None:
    bench = prepare(tmp_path, gate)
    before = list_ignored_files(bench.repository)
    ended = await bench.run(
        plans("root", {"key": "wrong"}, {"key": "right"}),
        writes("wrong", gate.source, gate.text.format(add="a - b")),
        worker_ends("wrong"),
        reviews("wrong"),
        writes("right", gate.source, gate.text.format(add="b + a")),
        worker_ends("right"),
        reviews("right"),
        *planner_is_done(),
        judges(),
        gate={"command": gate.command, "reruns": 0},
        run={"max_attempts": 1, "max_workers": 1},
        env={"share": [".venv", "node_modules", *gate.shared]},
        hands={"read_only": read_only(gate)},
    )
    (baseline,) = ended.state.get_baseline_receipts().values()
    assert baseline.exit_code == 0
    assert baseline.counts.passed == baseline.counts.total >= 1
    assert (status(ended, "wrong"), status(ended, "right")) == ("rejected", "merged")
    assert f"did not on the base (1): {gate.test_id}" in told(ended, "wrong")
    assert list_ignored_files(bench.repository) == before
