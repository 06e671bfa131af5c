"""Keeping an engine to a recorded order: its actions wait for their turn, its journal tells what has happened.

Calls of tools that a person stopped then are stopped again, when they have run for as long as then.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import LandingStarted
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.work import ToolCalled
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId, UnitId, parse_effect_name, parse_unit_task
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.engine.goal.actions import Action, LandTasks, PlanRound, RecordBaseline, StartAttempt
from orchestrator.journal.journal import Journal
from orchestrator.ports.ledger import Clock
from orchestrator.replay.sequence import milestones
from orchestrator.replay.sequence.milestone_order import MilestoneOrder
from orchestrator.replay.sequence.recorded_answers import (
    NO_ANSWERS,
    PlanAnswers,
    build_answer_events,
    find_answer,
    put_question,
)
from orchestrator.replay.sequence.recorded_stops import RecordedStop
from orchestrator.replay.sequence.recorded_words import NO_WORDS, RecordedWords
from orchestrator.replay.sequence.schedule import Compositions, QueueRound

_NEVER = "a further round of the queue"
_NO_COMPOSITIONS: Compositions = {}


class StoppingJournal(Journal):
    """A journal in which people stop calls and say something as they did then."""

    def __init__(
        self, directory: Path, clock: Clock, stops: Mapping[str, RecordedStop], words: RecordedWords = NO_WORDS
    ) -> None:
        super().__init__(directory, clock)
        self._stops = stops
        self._words = words

    async def append(self, *events: Event) -> None:
        """Make the events durable; a call that was not made then is stopped before it is made.

        Raises:
            JournalProblem: they could not be written.
        """
        await super().append(*events)
        for event in events:
            stop = self._stops.get(parse_effect_name(event.key)) if isinstance(event, ToolCalled) else None
            if stop and stop.after_s == 0:
                await self._take_again(stop.taken)

    async def wait_for_call_stop(self, call: str) -> None:
        """Wait for as long as the call ran, and stop it; for ever, if nobody stopped it then."""
        if stop := self._stops.get(call):
            await anyio.sleep(stop.after_s)
            await self._take_again(stop.taken)
        await super().wait_for_call_stop(call)

    async def repeat_words(self, session: SessionId, turn: int | None, *, is_interruption: bool = False) -> None:
        """Take down what people had said by then, as far as that has not been done."""
        for taken in self._words.list_words((session, turn), is_interruption=is_interruption):
            await self._take_again(taken)

    async def _take_again(self, taken: CommandTaken) -> None:
        """Take down a command of the recording, once: words may both stop a call and be told after it."""
        if taken.key not in self.state.taken_commands:
            await super().append(taken)


class RecordedActionOrder:
    """An `ActionOrder` that begins things in the recorded order."""

    gathers_news = False

    def __init__(
        self, order: MilestoneOrder, rounds: tuple[QueueRound, ...], compositions: Compositions = _NO_COMPOSITIONS
    ) -> None:
        self._order = order
        self._rounds = rounds
        self._compositions = compositions

    @property
    def plans_beside_baseline(self) -> bool:
        """True if the first planner was asked before the baseline was known, as in the recording."""
        return self._order.comes_after(milestones.BASELINE, milestones.name_planning_round(ROOT_TASK, 1))

    @asynccontextmanager
    async def wait_for_turn(self, action: Action, state: RunState) -> AsyncIterator[Action]:
        """Wait for the action's turn; a round of the queue gets the units that it had in the recording.

        Raises:
            ReplayStopped: its turn cannot come.
        """
        try:
            yield await self._await_turn(action, state)
        finally:
            self._order.set_busy_count(None)

    async def await_composition(self, task: TaskId, number: int) -> Sequence[UnitId] | None:
        """Return with what a candidate was composed in the recording, once it is time for that.

        Raises:
            ReplayStopped: its turn cannot come.
        """
        units = self._compositions.get((task, number))
        if units is not None:
            await self._order.wait_for_turn(milestones.name_composition(task, number))
        return units

    def on_waiting(self, busy: int) -> None:
        """Note that nothing else begins before one of `busy` actions has ended."""
        self._order.set_busy_count(busy)

    async def _await_turn(self, action: Action, state: RunState) -> Action:
        match action:
            case PlanRound(task):
                planner = state.tasks[task]
                number = planner.rounds + (planner.status != TaskStatus.PLANNING)
                await self._order.wait_for_turn(milestones.name_planning_round(task, number))
            case StartAttempt(task):
                await self._order.wait_for_turn(milestones.name_attempt(task, len(state.tasks[task].attempts) + 1))
            case RecordBaseline():
                await self._order.wait_for_turn(milestones.BASELINE)
            case LandTasks():
                return await self._choose_round(action, state)
        return action

    async def _choose_round(self, wanted: LandTasks, state: RunState) -> Action:
        coming = next((one for one in self._rounds if not self._order.has_happened(one.name)), None)
        await self._order.wait_for_turn(coming.name if coming else _NEVER)
        if coming is None:
            return wanted
        self._order.record_milestone(coming.name)
        queued = {task.unit: task for task in state.tasks.values() if task.status == TaskStatus.QUEUED}
        units = [unit for unit in coming.units if unit in queued and queued[unit].ejection is None]
        if units:
            return LandTasks(tuple(map(parse_unit_task, units)))
        return wanted


class OrderedJournal(StoppingJournal):
    """A journal that tells an order what has happened, and in which a landing waits for its turn.

    As soon as they come next it repeats the events `repeated`: what people answered then to wishes for a tier and to
    questions of the policy, and the policies that decided. Plans that waited for a person are answered as then.
    """

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        stops: Mapping[str, RecordedStop],
        order: MilestoneOrder,
        repeated: Sequence[Event] = (),
        words: RecordedWords = NO_WORDS,
        plan_answers: PlanAnswers = NO_ANSWERS,
    ) -> None:
        super().__init__(directory, clock, stops, words)
        self._order = order
        self._plan_answers = plan_answers
        self._repeated = milestones.index_milestones(repeated)
        self._namer = milestones.MilestoneNamer()

    async def append(self, *events: Event) -> None:
        """Make the events durable, and take them down as happened.

        Raises:
            JournalProblem: they could not be written.
            ReplayStopped: a landing's turn cannot come.
        """
        await self._repeat_event()
        answer = find_answer(self._plan_answers, events)
        if answer is not None:
            events = tuple(put_question(events, answer))
        names = list(map(self._namer.find_milestone, events))
        for event, name in zip(events, names, strict=True):
            if isinstance(event, LandingStarted) and name:
                await self._order.wait_for_turn(name)
        await super().append(*events)
        for name in filter(None, names):
            self._order.record_milestone(name)
        if answer is not None:
            await self.append(*build_answer_events(self.state, answer))
        await self._repeat_event()

    def stage_events(self, *events: Event) -> None:
        """Fold the events now, and tell what has happened by them.

        Raises:
            JournalProblem: an earlier write failed.
        """
        super().stage_events(*events)
        for name in filter(None, map(self._namer.find_milestone, events)):
            self._order.record_milestone(name)

    async def _repeat_event(self) -> None:
        if event := self._repeated.pop(self._order.next_milestone or "", None):
            await self.append(event)
