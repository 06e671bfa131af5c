"""Import graphs, read from contents alone."""

import ast
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.judge.selection.import_graph import (
    ImportGraph,
    ImportGraphReader,
    build_import_graph,
    read_import_graph,
)
from tests.running.projects import commit, git, repository
from worktrees.repositories.repository import GitRepository


def test_python_imports_are_followed_absolutely_relatively_and_below_src() -> None:
    files = {
        "src/shop/__init__.py": "from .cart import Cart\n",
        "src/shop/cart.py": "import os, shop.price\nfrom . import tax, missing\n",
        "src/shop/price.py": "def late():\n    try: from ..shop.tax import rate\n    except ImportError: pass\n",
        "src/shop/tax.py": "'''\nimport shop.cart\n'''\ntext = 'import shop.cart'  # import shop.cart\n",
        "tests/test_cart.py": "from shop.cart import (  # the cart\n    Cart,\n)\nfrom tests import \\\n    tools\n",
        "tests/tools.py": "import shop; import shop.price as p\n",
        "broken.py": "from shop import (\n",
    }
    graph = build_import_graph({path: text.encode() for path, text in files.items()})
    assert {path: set(found) for path, found in graph.imports.items() if found} == {
        "src/shop/__init__.py": {"src/shop/cart.py"},
        "src/shop/cart.py": {"src/shop/price.py", "src/shop/tax.py", "src/shop/__init__.py"},
        "src/shop/price.py": {"src/shop/tax.py"},
        "tests/test_cart.py": {"src/shop/cart.py", "tests/tools.py"},
        "tests/tools.py": {"src/shop/__init__.py", "src/shop/price.py"},
    }


def test_scripts_import_by_relative_paths_only_and_not_in_comments_or_strings() -> None:
    contents = {
        "a.ts": b"import x from './b'; import './c/'; import react from 'react'\nexport { y } from \"./d.js\"\n",
        "b.tsx": b"// import './d'\nconst s = \"require('./d')\"; /* require('./d') */ const e = require('./e.json')\n",
        "c/index.js": b"const later = () => import('../d')\n",
        "d.ts": b"",
        "e.json": b"{}",
    }
    found = {path: set(others) for path, others in build_import_graph(contents).imports.items() if others}
    assert found == {"a.ts": {"b.tsx", "c/index.js", "d.ts"}, "b.tsx": {"e.json"}, "c/index.js": {"d.ts"}}


def test_a_changed_package_file_reaches_whatever_imports_below_the_package() -> None:
    contents = {
        "p/__init__.py": b"",
        "p/a.py": b"",
        "p/b.py": b"",
        "test_a.py": b"import p.a",
        "test_b.py": b"import p.b",
    }
    graph = build_import_graph(contents)
    assert graph.find_dependents(["p/__init__.py"]) == {"p/__init__.py", "test_a.py", "test_b.py"}
    assert graph.find_dependents(["p/a.py"]) == {"p/a.py", "test_a.py"}


names = st.sampled_from([f"m{number}.py" for number in range(8)])
graphs = st.dictionaries(names, st.frozensets(names, max_size=4)).map(
    lambda edges: ImportGraph({f"m{n}.py": edges.get(f"m{n}.py", frozenset()) - {f"m{n}.py"} for n in range(8)})
)


def reaches(graph: ImportGraph, start: str, end: str) -> bool:
    return start in graph.find_dependents([end])


@given(graphs)
def test_files_come_after_what_they_import_unless_they_import_each_other(graph: ImportGraph) -> None:
    at = {path: place for place, group in enumerate(graph.cycles) for path in group}
    assert sorted(graph.leaves_first) == sorted(graph.imports)
    for path, found in graph.imports.items():
        for other in found:
            assert at[other] <= at[path]
            assert (at[other] == at[path]) == reaches(graph, other, path)


@given(graphs, st.integers(1, 8))
def test_clusters_divide_the_files_within_the_limit_and_never_divide_a_circle(graph: ImportGraph, limit: int) -> None:
    clusters = graph.cluster_paths(sorted(graph.imports), limit)
    assert sorted(path for cluster in clusters for path in cluster) == sorted(graph.imports)
    of = {path: cluster for cluster in clusters for path in cluster}
    for cycle in graph.cycles:
        assert {of[path] for path in cycle} == {of[cycle[0]]}
        assert len(of[cycle[0]]) <= max(limit, len(cycle))


statements = st.sampled_from(
    [
        *("import m1", "from m2 import x", "'''import m3'''", '"""\nimport m3\n"""', "x = 'import m3'", "# import m3"),
        *(
            "def f():\n    import m4\n",
            "if x: import m5",
            "r'\\\\'; import m6",
            "y = 'a' ''",
            "from m7 import (a,\n  b)",
        ),
    ]
)


@given(st.lists(statements))
def test_import_statements_are_those_that_the_parser_sees(lines: list[str]) -> None:
    text = "\n".join(lines)
    tree = ast.walk(ast.parse(text))
    wanted = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
    wanted |= {str(node.module) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    files = {f"m{number}.py": b"" for number in range(1, 8)}
    assert build_import_graph(files | {"main.py": text.encode()}).imports["main.py"] == {
        f"{name}.py" for name in wanted
    }


def test_five_thousand_files_are_read() -> None:
    chain = {f"pkg/m{number}.py": f"from pkg import m{number + 1}\n".encode() for number in range(5_000)}
    graph = build_import_graph(chain)
    order = graph.leaves_first
    assert len(order) == 5_000
    assert all(one in graph.imports[other] for one, other in pairwise(order))
    assert len(graph.find_dependents(["pkg/m4999.py"])) == 5_000
    assert max(map(len, graph.cluster_paths(order, 20))) <= 20


async def test_a_reader_of_many_commits_reads_each_as_one_that_knows_no_other(tmp_path: Path) -> None:
    files = {"shop/__init__.py": "", "shop/cart.py": "from shop import tax\n", "main.py": "import shop.cart\n"}
    files |= {"web/a.js": "import './b'\n", "web/c.ts": ""}
    root = repository(tmp_path / "repo", files)
    base = git(root, "rev-parse", "HEAD")
    commits = [base, commit(root, base, "main.py", "import shop\n"), commit(root, base, "shop/tax.py", "")]
    commits += [commit(root, base, "web/b.ts", ""), base, commit(root, base, "shop/cart.py", "import main\n")]
    reader, plain = ImportGraphReader(), GitRepository.open(root).git
    graphs = [await reader.read_graph(plain, one) for one in commits]
    assert graphs == [await read_import_graph(plain, one) for one in commits]
    assert graphs[0] == graphs[4] != graphs[5]
    assert graphs[2].imports["shop/cart.py"] == {"shop/tax.py"}
    assert graphs[3].imports["web/a.js"] == {"web/b.ts"}
