"""Maps of real repositories: what is on them, their budget, odd repositories, and a cache that can be lost."""

import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from orchestrator.agent.tools.codebase import build_codebase_tools
from orchestrator.codemap.git_codebase import GitCodebase
from orchestrator.codemap.map_cache import CACHE_FOLDER, MapCache
from orchestrator.codemap.rendering import count_tokens
from orchestrator.domain.ids import CommitId
from orchestrator.errors import ToolRefused
from orchestrator.ports.codebase import MapRequest
from tests.running.projects import git, repository
from worktrees.repositories.repository import GitRepository

SHOP = {
    "shop/cart.py": (
        "from shop.price import round_price\n\n\nclass Cart:\n"
        "    def total_price(self):\n        return round_price(1)\n"
    ),
    "shop/price.py": "def round_price(value):\n    return value\n",
    "shop/report.py": "from shop.price import round_price\n\n\ndef print_report():\n    round_price(2)\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total(): Cart()\n",
    "web/view.ts": "export function showCart(): void {}\n",
    "README.md": "the shop\n",
}


class Lookout:
    """A repository, and questions about it."""

    def __init__(self, root: Path, files: Mapping[str, str | bytes], mebibytes: int = 8) -> None:
        self.root = repository(root, files) if files else root
        self.state = root.parent / "state"
        self.mebibytes = mebibytes

    @property
    def head(self) -> CommitId:
        return CommitId(git(self.root, "rev-parse", "HEAD"))

    def codebase(self) -> GitCodebase:
        """A codebase of a program that has just begun."""
        kept = MapCache.open_for(self.state, self.mebibytes)
        return GitCodebase(GitRepository.open(self.root).git, self.head, kept)

    async def map(self, *texts: str, path: str = "", tokens: int = 2_000) -> str:
        return await self.codebase().draw_map(MapRequest(self.head, texts, tokens, path))

    async def use(self, name: str, arguments: str) -> str:
        """What a tool answers."""
        for tool in build_codebase_tools(self.codebase(), self.head, 2_000):
            if tool.name == name:
                return (await tool(arguments)).text
        raise KeyError(name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    return place


@pytest.fixture
def shop(root: Path) -> Lookout:
    return Lookout(root, SHOP)


def paths(drawn: str) -> list[str]:
    return [line for line in drawn.split("\n")[1:] if not line.startswith((" ", "[", "Files by"))]


async def test_what_others_use_comes_first(shop: Lookout) -> None:
    drawn = await shop.map()
    assert paths(drawn)[0] == "shop/price.py"
    assert "  1: def round_price(value):" in drawn
    assert drawn.startswith("6 files: 5 sources, 5 parsed")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Let print_report tell the sum.", "shop/report.py"),
        ("show the view better", "web/view.ts"),
        ("see shop/cart.py", "shop/cart.py"),
    ],
)
async def test_what_the_goal_names_comes_first(shop: Lookout, text: str, first: str) -> None:
    assert paths(await shop.map(text))[0] == first


async def test_a_map_of_a_folder_or_a_file_holds_nothing_else(shop: Lookout) -> None:
    assert set(paths(await shop.map(path="web/"))) == {"web/view.ts"}
    assert "total_price" in await shop.map(path="shop/cart.py")
    with pytest.raises(ToolRefused, match="no file at or below 'nowhere'"):
        await shop.map(path="nowhere")


async def test_no_map_is_larger_than_its_budget(root: Path) -> None:
    files = {}
    for number in range(40):
        body = "".join(f"def do_{number}_{line}(a, b, é='{'x' * line}'): pass\n" for line in range(20))
        files[f"pkg/m{number}/ünïcode_{number}.py"] = body
    lookout = Lookout(root, files)
    for tokens in (0, 1, 20, 60, 100, 333, 1_000, 5_000):
        assert count_tokens(await lookout.map("do_7_3", tokens=tokens)) <= tokens


async def test_the_same_question_has_the_same_answer_with_and_without_the_cache(shop: Lookout) -> None:
    first = await shop.map("the cart")
    assert await shop.map("the cart") == first
    shop.mebibytes = 0
    assert await shop.map("the cart") == first


@pytest.mark.parametrize("damage", [b"", b"no database" * 1_000, None], ids=["empty", "other", "half"])
async def test_a_damaged_cache_costs_only_time(shop: Lookout, damage: bytes | None) -> None:
    first = await shop.map("the cart")
    file = shop.state / CACHE_FOLDER / "cache.sqlite3"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert await shop.map("the cart") == first
    assert await shop.map("the report") == await shop.map("the report")


async def test_entries_that_were_altered_are_not_believed(shop: Lookout) -> None:
    first = await shop.map("the cart")
    with sqlite3.connect(shop.state / CACHE_FOLDER / "cache.sqlite3") as connection:
        connection.execute(
            "UPDATE entries SET content = (SELECT content FROM entries WHERE key LIKE 'symbols%' LIMIT 1)"
        )
    connection.close()
    assert await shop.map("the cart") == first


async def test_runs_that_draw_at_the_same_time_do_not_disturb_each_other(shop: Lookout) -> None:
    drawn: list[str] = []

    async def draw() -> None:
        drawn.append(await shop.map("the cart"))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(draw)
    assert len(set(drawn)) == 1


def test_the_cache_keeps_within_its_size(tmp_path: Path) -> None:
    kept = MapCache(tmp_path / "cache", 1024 * 1024)
    for number in range(60):
        noise = b"".join(bytes([number, part % 251, part * 7 % 256]) * 13 for part in range(2_000))
        kept.write_entries({f"{number} {part}": noise + bytes([part]) * 10 for part in range(4)})
        size = sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())
        assert size <= 1024 * 1024 + 64 * 1024
    assert kept.read_entries(["59 3"])


async def test_odd_repositories_have_maps(root: Path) -> None:
    (root / "link.py").symlink_to("/etc/passwd")
    files: dict[str, str | bytes] = {
        "deep.js": "[" * 60_000,
        "long.py": b"x = '" + b"y" * 300_000 + b"'\n",
        "bytes.py": b"def f\xff\xfe(): pass\ndef good(): pass\n",
        "nul.py": b"def hidden(): pass\n\0\n",
        "empty.py": b"",
        "node_modules/other/index.js": "function foreign() {}\n",
        "app.min.js": "function small(){}\n",
        "new\nline \x1b[31m.py": "def odd(): pass\n",
        "-rf.py": "def dashed(): pass\n",
        "plain.py": "def plain(): pass\n",
    }
    lookout = Lookout(root, files)
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{lookout.head},sub.py")
    git(root, "commit", "-q", "-m", "a submodule")
    drawn = await lookout.map()
    assert {"plain.py", "-rf.py", "new line [31m.py", "bytes.py"} <= set(paths(drawn))
    for absent in ("foreign", "small", "hidden", "root:", "\x1b"):
        assert absent not in drawn
    assert "dashed" in await lookout.map(path="-rf.py")


async def test_the_log_tells_what_changed_when(shop: Lookout) -> None:
    (shop.root / "shop/price.py").write_text("def round_price(value):\n    return round(value)\n")
    git(shop.root, "commit", "-q", "-a", "-m", "round \x1b[31mprices", "--date", "2026-02-03T10:00:00Z")
    told = await shop.use("log", '{"path": "shop", "n": 1}')
    assert "2026-02-03 round [31mprices" in told
    assert "shop/price.py" in told
    assert "base" not in told
    assert "<log-" in told
    assert "base" in await shop.use("log", "{}")


async def test_blame_tells_where_lines_come_from(shop: Lookout) -> None:
    before = shop.head
    (shop.root / "shop/price.py").write_text("def round_price(value):\n    return round(value)\n")
    git(shop.root, "commit", "-q", "-a", "-m", "round")
    lines = (await shop.use("blame", '{"path": "shop/price.py", "start": 1, "end": 2}')).split("\n")
    assert lines[1].startswith(before[:10])
    assert lines[1].endswith("1\tdef round_price(value):")
    assert lines[2].startswith(shop.head[:10])
    assert "no such file" in await shop.use("blame", '{"path": "nowhere.py"}')


async def test_a_repository_cannot_have_its_own_programs_run_by_blame_or_log(shop: Lookout, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    git(shop.root, "config", "diff.py.textconv", f"touch {proof}; cat")
    git(shop.root, "config", "diff.external", f"touch {proof}; true")
    git(shop.root, "config", "blame.ignoreRevsFile", "/nonexistent")
    (shop.root / ".gitattributes").write_text("*.py diff=py\n")
    git(shop.root, "add", "-A")
    git(shop.root, "commit", "-q", "-m", "attributes")
    assert "round_price" in await shop.use("blame", '{"path": "shop/price.py", "start": 1, "end": 1}')
    assert "attributes" in await shop.use("log", "{}")
    assert not proof.exists()


async def test_tests_are_told_by_name_and_by_imports_the_closest_first(shop: Lookout) -> None:
    assert "tests/test_cart.py" in await shop.use("tests", '{"path": "shop/cart.py"}')
    assert "tests/test_cart.py" in await shop.use("tests", '{"path": "shop/price.py"}')
    assert "no file of tests" in await shop.use("tests", '{"path": "shop/report.py"}')


async def test_files_that_change_often_are_hot(shop: Lookout) -> None:
    for number in range(3):
        (shop.root / "web/view.ts").write_text(f"export function showCart{number}(): void {{}}\n")
        git(shop.root, "commit", "-q", "-a", "-m", "again")
    assert [(file.path, file.commits) for file in await shop.codebase().list_hot_files()] == [("web/view.ts", 4)]


@pytest.mark.parametrize("name", ["map", "log", "blame", "tests"])
async def test_a_path_that_leads_out_of_the_repository_is_refused(shop: Lookout, name: str) -> None:
    assert "leads out of the repository" in await shop.use(name, '{"path": "shop/../../x.py"}')


@pytest.mark.parametrize("name", ["map", "log", "tests"])
async def test_where_objects_are_missing_a_tool_says_so(shop: Lookout, name: str) -> None:
    codebase = GitCodebase(GitRepository.open(shop.root).git, CommitId("1" * 40), MapCache.open_for(shop.state, 1))
    tools = {tool.name: tool for tool in build_codebase_tools(codebase, CommitId("1" * 40), 2_000)}
    assert "does not have all of its objects" in (await tools[name]('{"path": "shop"}')).text


async def test_tests_with_odd_names_are_told_in_one_line_each(root: Path) -> None:
    odd = dict.fromkeys(("caf\udce9/test_price.py", "test_\nprice\x1b[31m.py"), "from shop.price import round_price\n")
    told = await Lookout(root, SHOP | odd).use("tests", '{"path": "shop/price.py"}')
    assert "\x1b" not in told
    assert sum(line.endswith(".py") for line in told.split("\n")) == 3


async def test_what_a_parser_failed_on_is_tried_again(shop: Lookout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "def round_price" not in await shop.map()
    monkeypatch.undo()
    assert "def round_price" in await shop.map()
