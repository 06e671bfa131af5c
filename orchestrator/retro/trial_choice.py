"""Choose what a trial asks again: decisions in which a check sees the fault, and as many healthy ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply
from orchestrator.domain.event.work import TurnEnded
from orchestrator.domain.ids import RunId
from orchestrator.replay.recording import RecordedRun
from orchestrator.retro.decisions import CauseKind, DecisionFault, JudgedDecision
from orchestrator.retro.findings import PromptFinding
from orchestrator.retro.reply_checks import ReplyContext, has_fault, is_worse, list_written_paths, read_decision
from orchestrator.retro.trial import MAX_TRIED, TrialCall, TrialResult, TriedDecision
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects

_LOOKED_AT = 4
"""So many healthy decisions are looked at for each that is asked again: sound vetoes are to be held against false ones.
"""


@dataclass(frozen=True)
class TrialMaterial:
    """A call to make again, with the recorded reply and what its check needs to know."""

    call: TrialCall
    recorded: Reply
    context: ReplyContext

    @property
    def usage(self) -> Usage:
        """The cost of the call when it was recorded."""
        return self.recorded.usage

    def judge_reply(self, new: Reply) -> TrialResult:
        """Return what a new reply shows."""
        if self.call.cause is None:
            return "worse" if is_worse(self.recorded, new, self.context) else "fine"
        shown = has_fault(new, self.call.cause, self.context)
        if shown is None or not new.tool_calls:
            return "unclear"
        return "as-before" if shown else "better"

    def build_result(self, new: Reply | None, words: tuple[str, str] = ("", "")) -> TriedDecision:
        """Return the tried decision. `words` describe the two replies."""
        result: TrialResult = "unreached"
        if new is not None:
            result = self.judge_reply(new)
        return TriedDecision(self.call, result, *words)


class TrialChooser:
    """Chooses the calls of a trial in recorded runs."""

    def __init__(self, git: Git, recordings: Mapping[RunId, RecordedRun]) -> None:
        self._git = git
        self._recordings = recordings

    async def choose_calls(
        self, findings: Sequence[PromptFinding], decisions: Sequence[JudgedDecision]
    ) -> Sequence[TrialMaterial]:
        """Return the calls to make again for findings about one prompt: bad ones first, then healthy ones.

        Raises:
            GitError: the repository cannot be read.
        """
        bad = await self._choose_bad(findings)
        use = findings[0].use
        healthy = [decision for decision in decisions if decision.use == use and decision.is_healthy]
        runs = {material.call.run for material in bad}
        healthy.sort(key=lambda decision: (decision.run not in runs, decision.number, decision.run))
        controls: list[TrialMaterial] = []
        for decision in healthy[: len(bad) * _LOOKED_AT]:
            material = await self._choose_healthy(decision)
            if material is not None:
                controls.append(material)
        decided = {read_decision(material.recorded) for material in bad}
        controls.sort(key=lambda material: read_decision(material.recorded) not in decided)
        return (*bad, *controls[: len(bad)])

    async def _choose_bad(self, findings: Sequence[PromptFinding]) -> list[TrialMaterial]:
        chosen: dict[tuple[str, str, int], TrialMaterial] = {}
        for finding in findings:
            for decision in finding.decisions:
                for fault in decision.faults:
                    if len(chosen) >= MAX_TRIED or fault.cause != finding.cause:
                        continue
                    material = await self._find_guilty_call(decision, fault)
                    if material is not None:
                        call = material.call
                        chosen.setdefault((call.run, call.session, call.turn), material)
        return list(chosen.values())

    async def _find_guilty_call(self, decision: JudgedDecision, fault: DecisionFault) -> TrialMaterial | None:
        """Return the latest call of the session in which a check sees the fault; None if it sees it nowhere."""
        for turn, reply in self._iterate_replies(decision):
            if fault.turn is not None and turn != fault.turn:
                continue
            paths: Sequence[str] = ("",)
            if fault.cause.kind == CauseKind.RULE:
                paths = (fault.path,) if fault.path else list_written_paths(reply)
            for path in paths:
                context = await self._read_context(decision, turn, path)
                if has_fault(reply, fault.cause, context):
                    call = self._build_call(decision, turn, fault, path)
                    return TrialMaterial(call, reply, context)
        return None

    async def _choose_healthy(self, decision: JudgedDecision) -> TrialMaterial | None:
        """Return the latest call of a session that wrote a file or gave a verdict."""
        for turn, reply in self._iterate_replies(decision):
            paths = list_written_paths(reply)
            if not paths and read_decision(reply) is None:
                continue
            path = paths[0] if paths else ""
            context = await self._read_context(decision, turn, path)
            if not is_worse(reply, reply, context):
                return TrialMaterial(self._build_call(decision, turn, None, path), reply, context)
        return None

    def _iterate_replies(self, decision: JudgedDecision) -> Iterator[tuple[int, Reply]]:
        """Yield the replies of a session with their turns, the latest first; none of a run without a recording."""
        if decision.run not in self._recordings:
            return
        calls = self._recordings[decision.run].calls
        turns = sorted((turn for session, turn in calls if session == decision.session), reverse=True)
        for turn in turns:
            reply = calls[decision.session, turn].answer.reply
            if reply is not None:
                yield turn, reply

    def _build_call(self, decision: JudgedDecision, turn: int, fault: DecisionFault | None, path: str) -> TrialCall:
        seq = self._recordings[decision.run].calls[decision.session, turn].seq
        cause = None
        if fault is not None:
            cause = fault.cause
        return TrialCall(decision.run, decision.session, turn, seq, cause, path)

    async def _read_context(self, decision: JudgedDecision, turn: int, path: str) -> ReplyContext:
        recording = self._recordings[decision.run]
        task = recording.state.tasks.get(decision.task)
        spec = None
        if task is not None:
            spec = task.spec
        if not path:
            return ReplyContext(spec, recording.state.run.repository)
        before = self._find_tree_before(decision, turn)
        base, current = await self._read_files(decision.base, before, path)
        return ReplyContext(spec, recording.state.run.repository, path, base, current)

    def _find_tree_before(self, decision: JudgedDecision, turn: int) -> str:
        """Return the commit or tree on which a turn began."""
        recording = self._recordings[decision.run]
        found = decision.base
        task = recording.state.tasks.get(decision.task)
        for attempt in task.attempts if task is not None else ():
            if attempt.number == decision.number and attempt.start:
                found = attempt.start
        for recorded in recording.events:
            event = recorded.event
            if isinstance(event, TurnEnded) and event.session == decision.session and event.turn < turn and event.tree:
                found = event.tree
        return found

    async def _read_files(self, base: str, before: str, path: str) -> tuple[bytes | None, bytes | None]:
        names = []
        for commit in (base, before):
            names.append(f"{commit}:{path}".encode("utf-8", "surrogateescape"))
        contents = []
        for found in await read_objects(self._git, names):
            contents.append(found.content if found is not None and found.kind == "blob" else None)
        return contents[0], contents[1]
