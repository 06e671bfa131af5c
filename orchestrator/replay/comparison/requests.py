"""Holding what a replay asks its models against what was asked when the run was recorded."""

from dataclasses import dataclass, field

from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.chat import Message, Request
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import parse_session_lens
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.llm.model_limits import find_context_tokens
from orchestrator.llm.reasoning_rules import find_strictest_rule
from orchestrator.llm.recorded_model import CallPosition
from orchestrator.llm.request_digest import hash_messages, hash_request
from orchestrator.replay.comparison.diffs import find_changed_message
from orchestrator.replay.recording import RecordedCall, RecordedRun


class Divergence(FrozenModel):
    """A place where the replay is not the recorded run.

    `seq` is the event of the recording, `what` says in words what differs, `diff` shows it. `session` and `turn` name
    the call, where it is one.
    """

    seq: int
    what: str
    diff: tuple[str, ...] = ()
    session: str | None = None
    turn: int | None = None
    role: str | None = None
    task: str | None = None


@dataclass
class RequestComparison:
    """All requests so far: how many were the same byte for byte, or but for times and made-up names, and the others."""

    recording: RecordedRun
    config: Config
    same_bytes: int = 0
    same_steadied: int = 0
    divergences: list[Divergence] = field(default_factory=list)

    async def compare_request(self, request: Request) -> None:
        """Compare a request; one that was never made in the recording is somebody else's to tell of."""
        place: CallPosition = (request.session, request.turn)
        call = self.recording.calls.get(place)
        if call is None:
            return
        then = await self.find_recorded_messages(request)
        if then == request.messages and call.called.request in {"", hash_request(request)}:
            self.same_bytes += 1
        elif _is_same(call, then, request):
            self.same_steadied += 1
        else:
            self.divergences.append(_build_divergence(call, then, request))

    async def find_recorded_messages(self, request: Request) -> tuple[Message, ...]:
        """Return what was asked at this place when it was recorded; nothing if its session never came so far."""
        settings = get_model_settings(self.config, self.recording.state, request)
        rule = find_strictest_rule(one.model for one in settings.list_fallback_chain())
        place: CallPosition = (request.session, request.turn)
        return await self.recording.find_messages(place, find_context_tokens(settings), rule) or ()


def get_model_settings(config: Config, state: RunState, request: Request) -> ModelSettings:
    """Return the settings of the model that a request goes to.

    They are those of the variant that a worker's task asks for, or of the lens that a judge's session is with.
    """
    roles = config.roles
    if request.role != "worker":
        if request.role == "planner":
            return roles.planner
        if request.role == "verifier":
            return roles.verifier
        if request.role == "arbiter":
            return roles.get_arbiter_settings()
        return roles.judge.get_lens_settings(parse_session_lens(request.session))
    task = state.tasks.get(request.task)
    return roles.worker.get_variant(_find_variant(task, request) if task else None)


def _find_variant(task: TaskState, request: Request) -> str | None:
    """Return the variant of the attempt that a worker's call is of."""
    for attempt in task.attempts:
        if attempt.session == request.session and attempt.variant:
            return attempt.variant
    return task.spec.variant


def _is_same(call: RecordedCall, then: tuple[Message, ...], request: Request) -> bool:
    if call.called.request:
        return call.called.request == hash_request(request)
    return hash_messages(then) == hash_messages(request.messages)


def _build_divergence(call: RecordedCall, then: tuple[Message, ...], request: Request) -> Divergence:
    unshown = "the tools on offer, or the rules of comparison (the messages are the same)"
    what, diff = find_changed_message(then, request.messages) or (unshown, ())
    about = request.model_dump(include={"session", "turn", "role", "task"})
    return Divergence(seq=call.seq, what=what, diff=diff, **about)
