"""The code of a change under the tests of its base: what its own changes to tests would hide shows there."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.judging.check import Difference
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import JudgedChange, RestoredCommit, create_restored_commit
from orchestrator.engine.judging.test_selection import select_tests_of_change
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.gate.changed_test_ids import exclude_lost_tests, find_excused_tests
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.held_back_tests import list_held_back_tests
from orchestrator.ports.gate import GateResult

_HOW_BASE_TESTS_JUDGE = "that is how the tests of the base judge the change, without its own changes to tests"
_MESSAGE = "The candidate's code under the tests of its base"


@dataclass(frozen=True)
class BaseTestsJudge:
    """The tests of a change's base on its code. `grants` are what the plan lets become of tests."""

    context: RunContext
    change: JudgedChange
    grants: Sequence[AnyGrant]
    evolution: TestEvolution
    purpose: Purpose

    async def judge_change(self, own: Difference, *, selects: bool) -> GateResult | None:
        """Return what the base's tests add to a green difference; None if the change leaves those alone.

        With `selects` the tests that the change concerns are enough, where they are green.

        Raises:
            EnvironmentProblem: the checks could not be run.
        """
        held = await self._restore_tests()
        if held is None:
            return None
        result = await self._look_at_tests(held) if selects else None
        if result is None:
            reruns, purpose = self.context.config.gate.reruns, self._held_purpose
            result = await self.context.gate.judge_tree(held.commit, held.tree, purpose, reruns=reruns)
        added = await self._compare_with_own(own, result.difference)
        return result.model_copy(update={"difference": added})

    @property
    def _held_purpose(self) -> Purpose:
        return self.purpose.with_detail("tests as on its base")

    async def _restore_tests(self) -> RestoredCommit | None:
        changes, git = self.change.changes, self.context.repository.git
        facts = ChangeFacts(files=changes.files, grants=self.grants, support=changes.reading.support)
        paths = await to_thread.run_sync(list_held_back_tests, facts)
        commit, base, when = self.change.commit, self.change.base, self.context.commit_date
        return await create_restored_commit(git, commit, base, paths, when, _MESSAGE)

    async def _look_at_tests(self, held: RestoredCommit) -> GateResult | None:
        """Return the green word of the tests that the change concerns; None if it is not green, or there is none."""
        changed = [path for path in self.change.changed_paths if path not in held.removed]
        selection = await select_tests_of_change(self.context, held.commit, changed)
        if selection is None:
            return None
        tree = CheckedTree(held.commit, held.tree, self._held_purpose)
        return await self.context.gate.selected_tests.look_at_tests(tree, selection)

    async def _compare_with_own(self, own: Difference, held: Difference) -> Difference:
        excused = frozenset[str]()
        if tests := (*own.fixed, *held.lost_tests):
            base = self.change.base
            base_tree, purpose = await self.context.read_tree_id(base), self.purpose.with_detail("its base")
            before = await self.context.gate.collect_outcomes(base, base_tree, purpose)
            excused = find_excused_tests(tests, self.evolution, before or ())
        held = exclude_lost_tests(held, excused)
        if held.is_unsettled:
            return held
        if not held.is_green:
            return held + Difference(problems=(_HOW_BASE_TESTS_JUDGE,))
        if lent := sorted(set(own.fixed) - set(held.fixed) - excused):
            text = f"pass only together with the change's own tests: {', '.join(lent[:12])}"
            return Difference(problems=(text,))
        return Difference(flaky=held.flaky)
