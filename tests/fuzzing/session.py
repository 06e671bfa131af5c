"""Draw cases of each target in turn, keep what fails once for each cause, as small as it becomes."""

import ast
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pprint import pformat
from random import Random

from tests.fuzzing.case_process import Failure, renew_directory, run_apart
from tests.fuzzing.ground import build_ground
from tests.fuzzing.target import Given, Target

_SHRINK_S = 20.0
_SHRINK_TRIES = 120
_SAY_EVERY_S = 60.0


@dataclass
class Session:
    """The cases of a seed, in a directory of its own; `findings` are failures by signature, with their files."""

    seed: int
    directory: Path
    counts: Counter[str] = field(default_factory=Counter)
    inputs: Counter[str] = field(default_factory=Counter)
    slowest_s: dict[str, float] = field(default_factory=dict)
    findings: dict[str, Path] = field(default_factory=dict)
    repeated: Counter[str] = field(default_factory=Counter)

    @property
    def place(self) -> Path:
        """The directory in which each case finds its ground; always the same, as journals name it."""
        return self.directory / "case"

    @property
    def ground(self) -> Path:
        """The ground that is copied for each case."""
        return self.directory / "ground"

    def prepare(self, targets: Sequence[Target]) -> None:
        """Make the ground if a target needs it."""
        if not any(target.has_ground for target in targets) or self.ground.exists():
            return
        renew_directory(self.place)
        failure = run_apart(lambda: _build(self.place), self.directory, wall_s=300)
        if failure is not None:
            raise RuntimeError(f"the ground could not be made: {failure.text}")
        self.place.rename(self.ground)

    def run_targets(self, targets: Sequence[Target], until: Callable[[int, float], bool]) -> None:
        """Run cases of the targets, always of the one that has had the least time, until all are told to stop."""
        self.prepare(targets)
        used_s = dict.fromkeys((target.name for target in targets), 0.0)
        said_at = time.monotonic()
        open_targets = {target.name: target for target in targets}
        while open_targets:
            name = min(open_targets, key=lambda one: used_s[one])
            used_s[name] += self.run_number(open_targets[name], self.counts[name])
            if until(self.counts[name], used_s[name]):
                del open_targets[name]
            if time.monotonic() - said_at > _SAY_EVERY_S:
                said_at = time.monotonic()
                print(f"{sum(used_s.values()):.0f} s: {dict(self.inputs)}", file=sys.stderr, flush=True)

    def run_number(self, target: Target, number: int) -> float:
        """Run the case with a number, and write down how it failed if that is new; return how long it took, in s."""
        begun = time.monotonic()
        given = target.make_case(Random(f"{self.seed}/{target.name}/{number}"))
        self.counts[target.name] += 1
        self.inputs[target.name] += target.inputs
        failure = self.run_given(target, given)
        took_s = time.monotonic() - begun
        self.slowest_s[target.name] = max(took_s, self.slowest_s.get(target.name, 0.0))
        if failure is not None:
            self.repeated[failure.signature] += 1
            if failure.signature not in self.findings:
                smaller = self._shrink(target, given, failure.signature)
                self._write_down(target, number, smaller, failure)
        return took_s

    def run_given(self, target: Target, given: Given) -> Failure | None:
        """Run an input."""
        source = self.ground if target.has_ground else None
        place = renew_directory(self.place, source)
        return run_apart(lambda: target.run_case(given, place), place, target.wall_s)

    def _shrink(self, target: Target, given: Given, signature: str) -> Given:
        """Return a smaller input that fails in the same way."""
        until = time.monotonic() + _SHRINK_S
        tries = 0
        is_smaller = True
        while is_smaller:
            is_smaller = False
            for smaller in _iterate_smaller(given):
                tries += 1
                if tries > _SHRINK_TRIES or time.monotonic() > until:
                    return given
                failure = self.run_given(target, smaller)
                if failure is not None and failure.signature == signature:
                    given, is_smaller = smaller, True
                    break
        return given

    def _write_down(self, target: Target, number: int, given: Given, failure: Failure) -> None:
        path = self.directory / "findings" / f"{target.name}-{self.seed}-{number}.py"
        path.parent.mkdir(exist_ok=True)
        document = {"target": target.name, "seed": self.seed, "case": number, "input": given}
        quoted = "".join(f"# {line}\n" for line in f"{failure.signature}\n\n{failure.text}".splitlines())
        path.write_text(f"{quoted}{pformat(document, width=120)}\n", encoding="utf-8", errors="backslashreplace")
        self.findings[failure.signature] = path
        print(f"{target.name} {number}: {failure.signature}\n  {path}", file=sys.stderr, flush=True)

    def render_lines(self) -> Iterator[str]:
        """Yield the counts of each target, and the findings."""
        for name, count in self.counts.items():
            took = f"the slowest took {self.slowest_s[name]:.1f} s"
            yield f"{name:18} {self.inputs[name]:7} inputs in {count} cases, {took}"
        yield f"{self.inputs.total()} inputs in {self.counts.total()} cases, {len(self.findings)} findings"
        for signature, path in self.findings.items():
            yield f"  {self.repeated[signature]} times: {signature} ({path})"


def read_finding(path: Path) -> tuple[str, Given]:
    """Return the target and the input of a finding that was written down."""
    document = ast.literal_eval(path.read_text(encoding="utf-8"))
    return document["target"], document["input"]


def _build(home: Path) -> None:
    build_ground(home)
    gc.collect()


def _iterate_smaller(given: Given) -> Iterator[Given]:
    """Yield inputs without one part, then with a shorter content of a part."""
    for number in range(len(given)):
        if len(given) > 1:
            yield given[:number] + given[number + 1 :]
    for number, part in enumerate(given):
        if isinstance(part, bytes | str) and len(part) > 1:
            for shorter in _iterate_shorter(part):
                yield [*given[:number], shorter, *given[number + 1 :]]
        elif isinstance(part, list):
            for inner in _iterate_smaller(part):
                if len(inner) == len(part):
                    yield [*given[:number], inner, *given[number + 1 :]]


def _iterate_shorter(content: bytes | str) -> Iterator[bytes | str]:
    """Yield the content without its halves, quarters and so on."""
    size = len(content)
    step = size // 2
    while step >= max(1, size // 32):
        for start in range(0, size, step):
            yield content[:start] + content[start + step :]
        step //= 2
