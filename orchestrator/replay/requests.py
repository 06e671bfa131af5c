"""Holding what a replay asks its models against what was asked when the run was recorded."""

from dataclasses import dataclass, field

from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.base import Frozen
from orchestrator.domain.chat import Message, Request
from orchestrator.domain.review import lens_of
from orchestrator.domain.state import RunState
from orchestrator.llm.digest import messages_sha, request_sha
from orchestrator.llm.recorded import Place
from orchestrator.replay.differing import first_message
from orchestrator.replay.recording import RecordedCall, Recording


class Divergence(Frozen):
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

    recording: Recording
    config: Config
    same_bytes: int = 0
    same_steadied: int = 0
    divergences: list[Divergence] = field(default_factory=list)

    async def heard(self, request: Request) -> None:
        """Compare a request; one that was never made in the recording is somebody else's to tell of."""
        place: Place = (request.session, request.turn)
        call = self.recording.calls.get(place)
        if call is None:
            return
        then = await self.then(request)
        if then == request.messages and call.called.request in {"", request_sha(request)}:
            self.same_bytes += 1
        elif _is_same(call, then, request):
            self.same_steadied += 1
        else:
            self.divergences.append(_divergence(call, then, request))

    async def then(self, request: Request) -> tuple[Message, ...]:
        """What was asked at this place when it was recorded; nothing if its session never came so far."""
        tokens = settings_for(self.config, self.recording.state, request).context_tokens
        return await self.recording.messages((request.session, request.turn), tokens) or ()


def settings_for(config: Config, state: RunState, request: Request) -> ModelSettings:
    """How the role of a request speaks with its model: of a worker, the variant that its task asks for; of a judge, the
    lens that its session is with.
    """
    roles = config.roles
    if request.role != "worker":
        return roles.planner if request.role == "planner" else roles.judge.lens(lens_of(request.session))
    task = state.tasks.get(request.task)
    return roles.worker.variant(task.spec.variant if task else None)


def _is_same(call: RecordedCall, then: tuple[Message, ...], request: Request) -> bool:
    if call.called.request:
        return call.called.request == request_sha(request)
    return messages_sha(then) == messages_sha(request.messages)


def _divergence(call: RecordedCall, then: tuple[Message, ...], request: Request) -> Divergence:
    what, diff = first_message(then, request.messages) or (
        "the tools on offer, or the rules of comparison (the messages are the same)",
        (),
    )
    return Divergence(
        seq=call.seq,
        what=what,
        diff=diff,
        session=request.session,
        turn=request.turn,
        role=request.role,
        task=request.task,
    )
