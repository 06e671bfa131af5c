"""A gate whose runs take a fixed time of a clock of its own, and that is red by marker files in the tree.

`markers/UNIT.red` makes a tree red; `markers/UNIT.3flaky` in 3 % of its runs, until the unit has landed: then it would
be as flaky on the base. Two files `markers/NAME.half-1` and `.half-2` make a tree red together.
"""

import heapq
import random
from collections import Counter
from collections.abc import Sequence
from itertools import count

import anyio

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.gate import GateResult
from worktrees.git import Git


class MarkerGate:
    """`runs` counts the runs that began, `ended` those that were stopped; `most_at_once` ran at the same time.

    With `names_tests` a red tree names a test for each marker that makes it red.
    """

    def __init__(
        self, git: Git, run_s: float = 1.0, jitter: float = 0.0, seed: int = 0, *, names_tests: bool = False
    ) -> None:
        self._git = git
        self._run_s = run_s
        self._jitter = jitter
        self._chance = random.Random(seed)
        self._seed = seed
        self._looks = Counter[TreeId]()
        self._names_tests = names_tests
        self._results: dict[TreeId, GateResult] = {}
        self._waiting: list[tuple[float, int, anyio.Event, TreeId]] = []
        self._numbers = count()
        self.running: set[TreeId] = set()
        self.now = 0.0
        self.runs = self.ended = self.most_at_once = self.probes = 0
        self.landed: set[str] = set()

    async def judge_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, fresh: bool = False, reruns: int = 0
    ) -> GateResult:
        if not fresh and tree in self._results:
            return self._results[tree].model_copy(update={"cached": True})
        result = GateResult(tree=tree, difference=await self._run_checks(tree), receipts=(f"r{self.runs}",))
        self._results[tree] = result
        return result

    async def probe_tree(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, symptoms: Sequence[str], look: int = 0
    ) -> GateResult:
        self.probes += 1
        shown = await self._find_red(tree)
        difference = Difference(new_failures=tuple(name for name in shown if name in symptoms))
        return GateResult(tree=tree, difference=difference, receipts=(f"p{self.probes}",), is_whole=False)

    def choose_length(self) -> float:
        """Return the length of the next run."""
        return self._run_s * (1 + self._chance.uniform(-self._jitter, self._jitter))

    async def jump_to_next_end(self) -> None:
        """Let time pass until the next runs end, and wait until they have."""
        while self._waiting and self._waiting[0][2].is_set():
            heapq.heappop(self._waiting)
        if self._waiting:
            self.now = self._waiting[0][0]
        ended = set[TreeId]()
        while self._waiting and self._waiting[0][0] <= self.now + 1e-9:
            _, _, event, tree = heapq.heappop(self._waiting)
            if not event.is_set():
                ended.add(tree)
                event.set()
        while ended & self.running:  # noqa: ASYNC110  they end one by one
            await anyio.sleep(0.0005)

    async def _run_checks(self, tree: TreeId) -> Difference:
        assert tree not in self.running, "two runs of one tree at once"
        self.running.add(tree)
        self.runs += 1
        self.most_at_once = max(self.most_at_once, len(self.running))
        end, done = self.now + self.choose_length(), anyio.Event()
        heapq.heappush(self._waiting, (end, next(self._numbers), done, tree))
        try:
            red = await self._find_red(tree)
            await done.wait()
        except anyio.get_cancelled_exc_class():
            self.ended += 1
            done.set()
            raise
        finally:
            self.running.discard(tree)
        if self._names_tests:
            return Difference(new_failures=tuple(red))
        return Difference(problems=("red",) if red else ())

    async def _find_red(self, tree: TreeId) -> list[str]:
        told = await self._git.run_text("ls-tree", "--name-only", f"{tree}", "markers/")
        names = [line.removeprefix("markers/") for line in told.splitlines()]
        self._looks[tree] += 1
        chance = random.Random(f"{self._seed} {tree} {self._looks[tree]}")
        red = []
        for name in names:
            unit, _, kind = name.rpartition(".")
            is_red = kind == "red" or (kind == "half-1" and f"{unit}.half-2" in names)
            if kind.endswith("flaky") and unit not in self.landed:
                is_red = chance.random() < int(kind.removesuffix("flaky")) / 100
            if is_red:
                red.append(unit)
        return red
