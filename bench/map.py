"""Measure the map of a large repository: cold, for another question, and warm, against its bounds.

    python -m bench.map
    FILES=75000 TOKENS=2000 python -m bench.map

The repository is of files like those of a service: a third each Python, TypeScript and Go, in packages that import each
other, some with tests, with a history of a few hundred commits. Cold is the first question to a repository that nobody
has asked; another question then finds symbols in the cache; warm is the same question to a program that has just begun.
CPU counts git and the processes that parse. Leaves with 1 if a bound is missed: by the clock, or where other work keeps
all processors busy, by the CPU that it took.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from orchestrator.codemap.git_codebase import GitCodebase
from orchestrator.codemap.map_cache import CACHE_FOLDER, MapCache
from orchestrator.codemap.rendering import count_tokens
from orchestrator.domain.ids import CommitId
from orchestrator.ports.codebase import MapRequest
from worktrees.repositories.repository import GitRepository

COLD_S = 5.0
ROUNDS = 3
"""Cold questions, each to a cache of its own; the fastest counts, as other work slows one down."""
WARM_S = 0.3
PER_FOLDER = 25
COMMITS = 300
CACHE_MB = 64
GOAL = (
    "Let orders of area 18 be cancelled: `cancel_order_18_3` in the order service has to give the money back, "
    "and pkg/area018/mod0318/part03.py has to say so."
)
OTHER_GOAL = "Rename the invoice columns that the report of area 250 prints, and keep the exports readable."
PYTHON = '''"""Orders of part {part} in area {area}."""

from area{near:03d} import Order{near}Base, load_order_{near}
from collections import defaultdict

MAX_ORDERS_{area} = {part}


class OrderService{area}x{part}(Order{near}Base):
    """Keeps the orders of this part."""

    def __init__(self, store: dict[str, int], limit: int = MAX_ORDERS_{area}) -> None:
        self._store = store
        self._limit = limit
        self._waiting = defaultdict(list)

    def place_order(self, key: str, amount: int) -> int:
        """Place an order and return what is left."""
        if amount > self._limit:
            raise ValueError(f"more than {{self._limit}}")
        for name, value in sorted(self._store.items()):
            if name == key and value < amount:
                self._waiting[key].append(amount)
        return self._store.setdefault(key, 0) - amount

    def list_waiting(self) -> list[str]:
        return sorted(name for name, amounts in self._waiting.items() if amounts)


def cancel_order_{area}_{part}(service: OrderService{area}x{part}, key: str) -> bool:
    """Cancel what was ordered; the money goes back."""
    known = load_order_{near}(key)
    if known is None:
        return False
    service.place_order(key, -known.amount)
    return True
'''
SCRIPT = """import {{ Invoice{near}, formatInvoice{near} }} from "../../area{near:03d}/part00";

export interface Invoice{area}x{part} extends Invoice{near} {{
  readonly id: string;
  total(currency: string): number;
}}

export class InvoicePrinter{area}x{part} {{
  private readonly columns: string[] = [];

  constructor(private readonly width: number = {part} + 40) {{}}

  printInvoice(invoice: Invoice{area}x{part}): string {{
    const lines = this.columns.map((column) => column.padEnd(this.width));
    if (lines.length === 0) {{
      return formatInvoice{near}(invoice);
    }}
    return lines.join("\\n") + invoice.total("EUR").toFixed(2);
  }}
}}

export const exportInvoice{area}x{part} = async (invoice: Invoice{area}x{part}): Promise<string> => {{
  const printer = new InvoicePrinter{area}x{part}();
  return printer.printInvoice(invoice);
}};
"""
GO = """package area{area:03d}

import "example.com/shop/area{near:03d}"

// Stock{part} counts what lies in the shelves.
type Stock{area}x{part} struct {{
	Items map[string]int
	limit int
}}

// Shelf{area}x{part} is where it lies.
type Shelf{area}x{part} interface {{
	Take(key string, count int) error
	Count() int
}}

func NewStock{area}x{part}(limit int) *Stock{area}x{part} {{
	return &Stock{area}x{part}{{Items: map[string]int{{}}, limit: limit}}
}}

func (s *Stock{area}x{part}) Take(key string, count int) error {{
	if s.Items[key] < count {{
		return area{near:03d}.ErrTooFew
	}}
	s.Items[key] -= count
	return nil
}}
"""
KINDS = (("py", PYTHON), ("ts", SCRIPT), ("go", GO))


class Question:
    """One map that is asked for: seconds by the clock and of CPU, and its tokens."""

    def __init__(self, name: str, seconds: float, cpu_s: float, text: str) -> None:
        self.seconds = cpu_s if _is_busy() else seconds
        self.text = text
        print(f"{name}: {seconds:.2f} s, {cpu_s:.2f} s of CPU, {count_tokens(text):,} tokens", flush=True)


def _is_busy() -> bool:
    return os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)


def main() -> int:
    """Print the figures; return 1 if one of them is past its bound."""
    files, tokens = int(os.environ.get("FILES", "75000")), int(os.environ.get("TOKENS", "2000"))
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as name:
        root, state = Path(name) / "repository", Path(name) / "state"
        _make_repository(root, files)
        head = CommitId(_git(root, "rev-parse", "main"))
        cold = _ask(f"cold, {files:,} files", root, state, head, GOAL, tokens)
        others = []
        for number in range(1, ROUNDS):
            others.append(_ask("cold again, elsewhere", root, Path(name) / str(number), head, GOAL, tokens))
        other = _ask("another question", root, state, head, OTHER_GOAL, tokens)
        warm = _ask("warm", root, state, head, GOAL, tokens)
        size = sum(file.stat().st_size for file in (state / CACHE_FOLDER).iterdir())
    print(f"cache: {size / 1024 / 1024:.1f} MB; most seconds cold {COLD_S}, warm {WARM_S}, budget {tokens:,} tokens")
    if os.environ.get("SHOW"):
        print(cold.text)
    fastest = min(question.seconds for question in (cold, *others))
    is_slow = fastest > COLD_S or other.seconds > COLD_S or warm.seconds > WARM_S
    is_large = max(count_tokens(question.text) for question in (cold, other, warm)) > tokens
    is_unlike = any(question.text != cold.text for question in (warm, *others))
    is_blind = "cancel_order_18_3" not in cold.text
    for is_wrong, what in (
        (is_slow, "too slow"),
        (is_large, "larger than its budget"),
        (is_unlike, "the same question had two answers"),
        (is_blind, "what the goal names is not on the map"),
    ):
        if is_wrong:
            print(what)
    return int(is_slow or is_large or is_unlike or is_blind)


def _ask(name: str, root: Path, state: Path, head: CommitId, goal: str, tokens: int) -> Question:
    began, used = time.monotonic(), _read_cpu()
    text = anyio.run(_draw, root, state, head, goal, tokens)
    return Question(name, time.monotonic() - began, _read_cpu() - used, text)


async def _draw(root: Path, state: Path, head: CommitId, goal: str, tokens: int) -> str:
    codebase = GitCodebase(GitRepository.open(root).git, head, MapCache.open_for(state, CACHE_MB))
    return await codebase.draw_map(MapRequest(head, (goal,), tokens))


def _read_cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _make_repository(root: Path, files: int) -> None:
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=root, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for piece in _write_history(files):
            process.stdin.write(piece.encode())
    if process.returncode:
        raise SystemExit("git fast-import failed")


def _write_history(files: int) -> Iterator[str]:
    who = "committer bench <bench@localhost> {} +0000\n"
    yield f"commit refs/heads/main\n{who.format(1700000000)}data 4\nbase\n"
    for number in range(files):
        yield _write_file(number, "")
    for number in range(COMMITS):
        text = f"touch {number}"
        yield f"commit refs/heads/main\n{who.format(1700000000 + number * 60)}data {len(text)}\n{text}\n"
        for step in (1, 7, 31):
            yield _write_file(number * number * step % files, f"\n# {number}\n")


def _write_file(number: int, more: str) -> str:
    module, part = divmod(number, PER_FOLDER)
    area = module % 300
    ending, template = KINDS[module % 3]
    text = template.format(area=area, part=part, near=(area * 7 + 3) % 300) + more
    mark = "_test" if part == PER_FOLDER - 1 else ""
    path = f"pkg/area{area:03d}/mod{module:04d}/part{part:02d}{mark}.{ending}"
    return f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n"


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
