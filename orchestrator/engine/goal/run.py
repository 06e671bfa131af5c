"""The run of a goal: one task group that does whatever is due until nothing is."""

import importlib
import math
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from orchestrator.domain.commands.definitions import Cancel, Command, Retry
from orchestrator.domain.commands.goal import explain_refusal, iterate_subtree
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.work import ModelCalled, SessionEnded, TaskEnded
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run_outcome import RunEndCause, RunOutcome
from orchestrator.engine.attempts import continue_attempt, start_attempt
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_to_raise_limit, build_waiting_error
from orchestrator.engine.control.stop_signals import open_stoppable_group, require_not_stopping
from orchestrator.engine.field_guide import save_field_guide
from orchestrator.engine.goal import actions, iterations
from orchestrator.engine.goal.baseline import list_actions_beside_baseline, may_plan_beside_baseline, record_baseline
from orchestrator.engine.goal.goal_schedule import GoalSchedule
from orchestrator.engine.goal.planning import close_slice, run_planning_round
from orchestrator.engine.goal.restart import is_restart_under_way
from orchestrator.engine.goal.schedule import ScheduleLimits
from orchestrator.engine.goal.worker_places import count_prepared_attempts
from orchestrator.engine.lost_hosts import LossCounter
from orchestrator.engine.merging.clash_probes import ClashProbe
from orchestrator.engine.pull_request.description import format_goal_body, format_goal_title
from orchestrator.engine.pull_request.proposal import is_being_merged, merge_when_green, propose_landed_work
from orchestrator.engine.run_end import describe_infrastructure_stops, end_run
from orchestrator.errors import HostLost, LimitReached, PausedByPerson, PersonNeeded, find_lost_host
from orchestrator.ports.roles import Roles, SessionFailure

if TYPE_CHECKING:
    from orchestrator.queue.trial_pool import TrialPool

_INBOX_PAUSE_S = 0.05
_JUDGED_ENDS = {TaskStatus.DONE, TaskStatus.UNFINISHED}
"""The ends of the root planner's work after which what landed is judged by the contract."""
_AT_WORK = frozenset({"worker", "arbiter"})
"""The roles that work on attempts, and hold a place while they do."""
_LATER_STEPS = "orchestrator.engine.goal.later_steps"


def _is_worker_finished(state: RunState, task: TaskState) -> bool:
    """Return True if the conversation of the latest attempt is over, and the attempt is not."""
    attempt = task.attempt
    if attempt is None or any(end.number == attempt.number for end in task.ends):
        return False
    session = state.sessions.get(attempt.session)
    return session is not None and session.ended is not None


class GoalRun:
    """Carries one goal to its end. All it knows is the journal's state, and what it is doing right now."""

    def __init__(self, context: RunContext, roles: Roles) -> None:
        self._context = context
        self._roles = roles
        self._busy: dict[actions.Action, anyio.CancelScope] = {}
        self._withdrawn: frozenset[TaskId] = frozenset()
        self._changed = anyio.Event()
        self._limit: LimitReached | None = None
        self._budget = context.config.budget
        self._needed: PersonNeeded | None = None
        self._halted: set[actions.Action] = set()
        self._losses = defaultdict[actions.Action, LossCounter](LossCounter)
        self._schedule = GoalSchedule(context.state)
        self._tasks: TaskGroup | None = None
        self._pool: TrialPool | None = None
        self._is_baseline_due = False

    async def run_to_end(self) -> None:
        """Run to the end, or from wherever an earlier process left off.

        Raises:
            OrchestrateError: the run had to stop before its end; it can be resumed.
        """
        listeners = self._context.journal.listeners
        added = (self._wake_at_worker_end, self._note_model_call)
        listeners.extend(added)
        try:
            await self._run_iterations()
        finally:
            for listener in added:
                listeners.remove(listener)

    async def _run_iterations(self) -> None:
        async with open_stoppable_group(self._context, self._wake, self._withdraw) as tasks:
            self._tasks = tasks
            require_not_stopping(self._context)
            tasks.start_soon(self._load_later_steps)
            tasks.start_soon(ClashProbe(self._context).watch_attempts)
            await save_field_guide(self._context)
            self._is_baseline_due = await may_plan_beside_baseline(self._context)
            if not self._is_baseline_due and not await record_baseline(self._context):
                return
            if ROOT_TASK not in self._context.state.tasks:
                await iterations.begin_first_iteration(self._context, self._roles)
            while self._context.state.ended is None:
                await self._work_until_quiet(tasks)
                require_not_stopping(self._context)
                if self._context.state.pending_approvals:
                    raise build_waiting_error(self._context)
                await self._close_iteration()

    async def _load_later_steps(self) -> None:
        """Load the later steps beside the first call of a model: none waits for them, and the whole run is one version.

        A program that is replaced while its run is under way would load half of the run from each of the two.
        """
        await self._context.model_called.wait()
        await to_thread.run_sync(importlib.import_module, _LATER_STEPS)

    def _note_model_call(self, recorded: RecordedEvent) -> None:
        if isinstance(recorded.event, ModelCalled) and not self._context.model_called.is_set():
            self._context.model_called.set()
            self._wake()

    async def _work_until_quiet(self, tasks: TaskGroup) -> None:
        while True:
            self._changed = anyio.Event()
            for action in self._list_wanted_actions():
                self._busy[action] = anyio.CancelScope()
                tasks.start_soon(self._perform, action)
            self._end_unneeded_trials()
            self._context.action_order.on_waiting(len(self._busy))
            if not self._busy and not self._withdrawn:
                break
            with anyio.move_on_after(self._get_news_wait_s()):
                await self._changed.wait()
        if self._limit is not None:
            await self._wait_for_commands()
            if self._budget == self._context.config.budget:
                await ask_to_raise_limit(self._context, self._limit)
            await self._work_until_quiet(tasks)
        if self._needed is not None and self._context.state.user_pause is None:
            raise self._needed

    def _end_unneeded_trials(self) -> None:
        """Stop what the queue tests while nobody lands: nothing is queued, or the run is about to stop."""
        if self._pool is not None and not any(isinstance(action, actions.LandTasks) for action in self._busy):
            self._pool.end_all_trials()

    async def _wait_for_commands(self) -> None:
        """Wait until everything that people have sent so far is taken: one of them may raise the limit."""
        inbox = self._context.directory.inbox
        while await to_thread.run_sync(lambda: next(iter(inbox.iterate_commands()), None)):  # noqa: ASYNC110  a folder
            await anyio.sleep(_INBOX_PAUSE_S)

    def _list_wanted_actions(self) -> list[actions.Action]:
        if self._needed is not None or self._context.state.ended is not None:
            return []
        if self._limit is not None and self._budget != self._context.config.budget:
            self._limit = None  # somebody changed the budget meanwhile: it is tried again
            self._halted.clear()
        settings = self._context.config
        bounds = ScheduleLimits(
            self._count_attempts_at_once(),
            settings.run.max_attempts,
            finish_only=self._limit is not None,
            verifier=settings.roles.verifier,
            freeze_after=settings.merge.freeze_after,
            max_planners=settings.plan.max_planners,
        )
        busy = self._busy.keys() | self._halted
        wanted = self._schedule.list_due_actions(bounds, busy, anyio.current_time(), self._pause_s)
        if self._is_baseline_due:
            is_asked = self._context.model_called.is_set()
            wanted = list_actions_beside_baseline(self._context.state, wanted, frozenset(self._busy), is_asked=is_asked)
        return [action for action in wanted if not self._is_withdrawn(action)]

    def _count_attempts_at_once(self) -> int:
        """Give the workers their places; return how many attempts may be under way.

        They are more than workers where those are many: of some the workspace is made ready, of others the work is
        taken. Where the order is given, it also says who has a place.
        """
        state = self._context.state
        workers = state.width.get_workers(self._context.config.run.max_workers)
        is_ordered = not self._context.action_order.gathers_news
        self._context.worker_places.set_count(math.inf if is_ordered else workers)
        prepared = count_prepared_attempts(workers)
        if not prepared:
            return workers
        return workers + prepared + self._count_finished_workers(state)

    def _count_finished_workers(self, state: RunState) -> int:
        working = [
            action for action in self._busy if isinstance(action, actions.StartAttempt | actions.ContinueAttempt)
        ]
        return sum(_is_worker_finished(state, state.tasks[action.task]) for action in working)

    def _wake_at_worker_end(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        if isinstance(event, SessionEnded) and self._context.state.sessions[event.session].role in _AT_WORK:
            self._wake()

    @property
    def _pause_s(self) -> float:
        """Seconds for which what landed gathers until a planner is told of it while its other tasks are at work."""
        if self._context.action_order.gathers_news:
            return self._context.config.plan.debounce_s
        return 0.0

    def _get_news_wait_s(self) -> float:
        wait_s = self._schedule.get_wait_s(anyio.current_time(), self._pause_s)
        return math.inf if wait_s is None else wait_s

    def _is_withdrawn(self, action: actions.Action) -> bool:
        """Return True if a task of the action is withdrawn, also one that a planner has just submitted."""
        lineage = self._context.state.iterate_lineage
        return any(self._withdrawn.intersection(lineage(task)) for task in actions.get_action_tasks(action))

    async def _perform(self, action: actions.Action) -> None:
        """Do what is due. A spent budget or a pause stops the others at their next call: one under way is paid for.

        On a spent budget what is finished is still judged and landed.
        """
        budget = self._context.config.budget  # as it was refused: it may be raised before that is told here
        begun = anyio.current_time()
        try:
            with self._busy[action]:
                async with self._context.action_order.wait_for_turn(action, self._context.state) as now:
                    await self._carry_out(now)
        except LimitReached as limit:
            self._limit, self._budget = self._limit or limit, budget
            self._halted.add(action)
        except PausedByPerson:
            pass  # due again when the run is continued; until then nothing is
        except PersonNeeded as needed:
            self._needed = needed
        except (HostLost, ExceptionGroup) as error:
            self._note_lost_host(action, error, anyio.current_time() - begun)
        else:
            self._losses.pop(action, None)
        del self._busy[action]
        self._wake()

    def _note_lost_host(self, action: actions.Action, error: Exception, seconds: float) -> None:
        """Leave an action due again whose host was lost, as after a resume: the journal knows how far it came.

        Raises:
            Exception: the error, if it is anything else.
            EnvironmentProblem: the action loses host after host.
        """
        lost = find_lost_host(error)
        if lost is None:
            raise error
        self._losses[action].note_loss(lost, seconds)

    @asynccontextmanager
    async def _withdraw(self, command: Command) -> AsyncIterator[None]:
        """Stop what is being done about tasks that a person cancels or has tried again, and begin nothing meanwhile."""
        state = self._context.state
        if not isinstance(command, Cancel | Retry) or command.task is None or explain_refusal(state, command):
            yield
            return
        concerned = iterate_subtree(state, state.tasks[command.task]) if command.task in state.tasks else ()
        self._withdrawn = frozenset(task.spec.id for task in concerned)
        try:
            for action, scope in self._busy.items():
                if self._withdrawn.intersection(actions.get_action_tasks(action)):
                    scope.cancel()
            while any(self._withdrawn.intersection(actions.get_action_tasks(action)) for action in self._busy):
                await self._changed.wait()
                await anyio.lowlevel.checkpoint()
            yield
        finally:
            self._withdrawn = frozenset()

    async def _stop_planner(self) -> None:
        """Stop the planner that is asked beside the baseline: a person decides first if there is to be any work."""
        planning = actions.PlanRound(ROOT_TASK)
        self._halted.add(planning)
        while planning in self._busy:
            self._busy[planning].cancel()
            await self._changed.wait()
            await anyio.lowlevel.checkpoint()

    def _wake(self) -> None:
        self._changed.set()

    async def _carry_out(self, action: actions.Action) -> None:
        context, roles = self._context, self._roles
        match action:
            case actions.RecordBaseline():
                await record_baseline(context, self._stop_planner)
                self._is_baseline_due = False
                self._halted.discard(actions.PlanRound(ROOT_TASK))
            case actions.PlanRound(task):
                await run_planning_round(context, roles, task)
            case actions.StartAttempt(task):
                await start_attempt(context, roles, task)
            case actions.ContinueAttempt(task):
                await continue_attempt(context, roles, task)
            case actions.CloseSlice(task):
                await close_slice(context, task)
            case actions.EndTask(task, status, reason, cause):
                await context.journal.append(TaskEnded(task=task, status=status, reason=reason, cause=cause))
            case _:
                await self._carry_out_later(action)

    async def _carry_out_later(self, action: actions.Action) -> None:
        """Carry out an action that waits for a model's answer before it is due, see `later_steps`."""
        from orchestrator.engine.goal import later_steps

        context, roles = self._context, self._roles
        match action:
            case actions.JudgeAttempt(task):
                await later_steps.judge_attempt(context, roles, task)
            case actions.VerifyTask(task):
                await later_steps.verify_task(context, roles, task)
            case actions.LandTasks(tasks) if self._tasks is not None:
                self._pool = self._pool or later_steps.TrialPool(self._tasks)
                await later_steps.land_tasks(context, tasks, self._pool)
                await save_field_guide(context)
            case actions.ChooseRival(first, rivals):
                await later_steps.choose_rival(context, roles, first, rivals)

    async def _close_iteration(self) -> None:
        """Judge what landed; then end the run or plan again."""
        state = self._context.state
        if not state.landings and not is_restart_under_way(state):
            await self._end_without_landing()
            return
        root = state.tasks[ROOT_TASK]
        if root.status not in _JUDGED_ENDS:
            await self._end_landed("partial", f"the planner of the whole goal gave up: {root.reason}")
            return
        again = state.goal.rejudge_count
        verdict = await iterations.judge_iteration(self._context, self._roles)
        if verdict is None:
            return
        if isinstance(verdict, SessionFailure):
            why = f"what landed could not be judged: {verdict.exit} {verdict.detail}"
            await self._end_landed("partial", f"{why}; have it judged again: orchestrate resume", "not-judged")
        elif await iterations.ask_to_extend_contract(self._context, verdict) or state.goal.rejudge_count != again:
            return
        elif verdict.decision == "done":
            await self._end_landed("done", "every criterion of the contract is met")
        elif state.goal.iteration >= self._context.config.run.max_iterations:
            reason = f"not reached after {state.goal.iteration} iterations: {'; '.join(verdict.reasons)}"
            await self._end_landed("partial", reason)
        else:
            await iterations.begin_next_iteration(self._context, verdict)

    async def _end_without_landing(self) -> None:
        state = self._context.state
        if stopped := describe_infrastructure_stops(state):
            reason = f"no task could land, and none because of its work: {stopped}"
            await end_run(self._context, "blocked", f"{reason}; have them tried again: orchestrate retry")
            return
        if any(task.spec.kind == "leaf" for task in state.tasks.values()):
            await end_run(self._context, "rejected", "no task could land")
            return
        root = state.tasks[ROOT_TASK]
        if root.handoff:
            await end_run(self._context, "nothing-changed", f"the planner submitted no task: {root.handoff.summary}")
        else:
            await end_run(self._context, "failed", f"there is no plan: {root.reason}")

    async def _end_landed(self, outcome: RunOutcome, reason: str, cause: RunEndCause | None = None) -> None:
        """Open the pull request, merge it where that is asked for, and end the run.

        It does not end where a person has a task tried again meanwhile.
        """
        context, again = self._context, self._context.state.goal.rejudge_count
        if not is_being_merged(context.state, await context.read_start_commit()):
            title, body = format_goal_title(context.state), format_goal_body(context.state, reason)
            await propose_landed_work(context, title, body)
        if outcome == "done" and context.state.goal.rejudge_count == again:
            await merge_when_green(context)
        if context.state.goal.rejudge_count == again:
            await end_run(context, outcome, reason, cause)
