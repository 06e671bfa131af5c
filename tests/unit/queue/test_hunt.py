"""The hunt for the causes of symptoms: whom it finds, in how many runs, and whom it leaves alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.judging.symptoms import GATE_SYMPTOM, MISSING_SUFFIX
from orchestrator.queue.culprit_search import CulpritSearch, UnionProbe
from orchestrator.queue.symptom_search import UnionResult


@dataclass
class World:
    """Units as bits; each symptom has the sets of units that bring it about. A hang hides all others."""

    count: int
    causes: Mapping[str, Sequence[int]]
    looks: list[UnionResult] = field(default_factory=list)
    asked: list[UnionProbe] = field(default_factory=list)

    def look(self, members: int, told: frozenset[str] | None) -> None:
        shown = {name for name, sets in self.causes.items() if any(one & ~members == 0 for one in sets)}
        seen = {GATE_SYMPTOM} if GATE_SYMPTOM in shown else shown if told is None else shown & told
        self.looks.append(UnionResult(members=members, symptoms=frozenset(seen), searched=told))

    def landed(self, primes: Mapping[str, int] | None = None) -> tuple[int, set[int]]:
        """What is left when every cause is found and left out, and the causes; hunts as the queue does."""
        union, found = (1 << self.count) - 1, set[int]()
        while True:
            self.look(union, None)
            if not self.looks[-1].symptoms:
                return union, found
            targets = tuple(sorted(self.looks[-1].symptoms))
            while isinstance(
                step := CulpritSearch(
                    union=union, targets=targets, results=tuple(self.looks), prime_suspects=primes or {}
                ).choose_next_step(),
                UnionProbe,
            ):
                self.asked.append(step)
                assert len(self.asked) < 500, "it goes round in circles"
                self.look(step.members, None if GATE_SYMPTOM in step.symptoms else frozenset(step.symptoms))
            causes = step
            assert causes, "every red union has a cause that can be found"
            found |= {cause.members for cause in causes}
            for cause in causes:
                union &= ~cause.members


def bits(*numbers: int) -> int:
    return sum(1 << number for number in set(numbers))


def log(count: int) -> int:
    return ceil(log2(max(count, 2)))


@settings(max_examples=60)
@given(st.integers(2, 600), st.sets(st.integers(0, 599), min_size=1, max_size=6))
def test_culprits_of_several_tests_are_found_together_and_each_is_seen_alone(count: int, bad: set[int]) -> None:
    guilty = sorted({number % count for number in bad})
    world = World(count, {f"test {number}": [bits(number)] for number in guilty})
    left, found = world.landed()
    assert (left, found) == (((1 << count) - 1) & ~bits(*guilty), {bits(number) for number in guilty})
    assert {look.members for look in world.looks} >= found, "nobody is blamed who was not red alone"
    assert len(world.looks) <= 3 * log(count) + 3 * len(guilty) + 4


@settings(max_examples=60)
@given(st.integers(2, 600), st.integers(0, 599), st.integers(1, 598))
def test_a_pair_that_fails_only_together_is_found_as_a_pair(count: int, one: int, step: int) -> None:
    pair = bits(one % count, (one + step) % count)
    world = World(count, {"together": [pair]})
    left, found = world.landed()
    if pair.bit_count() == 2:
        assert (left, found) == (((1 << count) - 1) & ~pair, {pair})
        assert len(world.looks) <= 3 * log(count) + 16


@settings(max_examples=60)
@given(st.integers(1, 600), st.sets(st.integers(0, 599), min_size=1, max_size=3), st.integers(0, 599))
def test_a_hang_hides_the_rest_and_all_are_found(count: int, bad: set[int], hanging: int) -> None:
    guilty, hang = {number % count for number in bad} - {hanging % count}, bits(hanging % count)
    world = World(count, {f"test {number}": [bits(number)] for number in guilty} | {GATE_SYMPTOM: [hang]})
    assert world.landed() == (((1 << count) - 1) & ~bits(*guilty) & ~hang, {bits(number) for number in guilty} | {hang})


@settings(max_examples=60)
@given(
    st.integers(2, 40),
    st.lists(st.lists(st.sets(st.integers(0, 39), min_size=1, max_size=3), min_size=1, max_size=2), max_size=4),
)
def test_what_is_left_is_green_and_whoever_was_left_out_had_a_part_in_something_red(
    count: int, causes: list[list[set[int]]]
) -> None:
    sets = {f"t{place}": [bits(*(n % count for n in one)) for one in many] for place, many in enumerate(causes)}
    left, found = World(count, sets).landed()
    every = [one for many in sets.values() for one in many]
    assert not any(one & ~left == 0 for one in every)
    assert all(cause in every for cause in found), "only whole causes, and the smallest ones"


@settings(max_examples=60)
@given(st.integers(20, 600), st.data())
def test_right_evidence_makes_the_search_short_whatever_the_size(count: int, data: st.DataObject) -> None:
    guilty = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=5, unique=True))
    primes = {f"test {number}": bits(number) for number in guilty}
    world = World(count, {name: [mask] for name, mask in primes.items()})
    assert world.landed(primes)[1] == set(primes.values())
    assert len(world.looks) <= 2 * len(guilty) + 5


@settings(max_examples=60)
@given(st.integers(4, 300), st.data())
def test_wrong_evidence_costs_runs_but_blames_nobody(count: int, data: st.DataObject) -> None:
    guilty, *others = data.draw(st.lists(st.integers(0, count - 1), min_size=2, max_size=5, unique=True))
    world = World(count, {"test": [bits(guilty)]})
    assert world.landed({"test": bits(*others)})[1] == {bits(guilty)}


def test_the_same_looks_lead_to_the_same_questions() -> None:
    worlds = [World(300, {"a": [bits(7)], "b": [bits(250, 8)], GATE_SYMPTOM: [bits(99)]}) for _ in range(2)]
    assert worlds[0].landed() == worlds[1].landed()
    assert worlds[0].asked == worlds[1].asked


def test_a_run_that_lacks_a_test_says_nothing_of_whether_it_fails() -> None:
    """Unit 3 makes the test vanish that unit 5 makes fail."""
    world = World(8, {f"t{MISSING_SUFFIX}": [bits(3)], "t": [bits(5)]})
    assert world.landed()[1] == {bits(3), bits(5)}
    assert UnionResult(members=1, symptoms=frozenset({f"t{MISSING_SUFFIX}"})).shows_symptom("t") is None


def test_a_test_that_fails_now_and_then_on_the_base_blames_nobody() -> None:
    looks = (UnionResult(members=7, symptoms=frozenset({"t"})), UnionResult(members=0, symptoms=frozenset({"t"})))
    (cause,) = CulpritSearch(union=7, targets=("t",), results=looks).choose_next_step()
    assert cause.members == 0


def test_a_test_that_comes_and_goes_is_looked_at_several_times_before_it_absolves() -> None:
    """Shown by all together, and by nobody in a second run of the same: then one look at a part says little."""
    both_ways = [UnionResult(members=15, symptoms=frozenset({"t"})), UnionResult(members=15, symptoms=frozenset())]
    base = [UnionResult(members=0, symptoms=frozenset(), searched=frozenset({"t"}))] * 3
    looks, asked = [*both_ways, *base], []
    for _ in range(3):
        step = CulpritSearch(union=15, targets=("t",), results=tuple(looks)).choose_next_step()
        assert isinstance(step, UnionProbe)
        asked.append((step.members, step.fresh))
        looks.append(UnionResult(members=step.members, symptoms=frozenset(), searched=frozenset({"t"})))
    assert asked == [(3, False), (3, True), (3, True)]


def test_two_are_blamed_for_what_comes_and_goes_only_if_each_by_itself_was_looked_at_four_times() -> None:
    """Both together have shown it three times; in unions with others, each without the other has never shown it."""
    t = frozenset({"t"})
    crowd = [UnionResult(members=15, symptoms=t), UnionResult(members=15, symptoms=frozenset())]
    parts = [UnionResult(members=members, symptoms=frozenset(), searched=t) for members in (0, 13, 14, 13, 14, 13, 14)]
    looks, asked = [*crowd, *parts, *parts, *[UnionResult(members=3, symptoms=t)] * 3], list[int]()
    while isinstance(
        step := CulpritSearch(union=15, targets=("t",), results=tuple(looks)).choose_next_step(), UnionProbe
    ):
        asked.append(step.members)
        assert len(asked) < 50
        looks.append(UnionResult(members=step.members, symptoms=frozenset(), searched=t))
    assert [cause.members for cause in step] == [3]
    assert (asked.count(1), asked.count(2)) == (4, 4)
