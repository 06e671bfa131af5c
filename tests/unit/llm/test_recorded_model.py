"""A model that answers from a journal: by session and turn, when it is its turn, errors included."""

import pytest

from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.ids import SessionId
from orchestrator.llm.errors import ContextOverflow
from orchestrator.llm.recorded_model import CallPosition, RecordedAnswer, RecordedModel
from tests.loopback.builders import request

HERE: CallPosition = (request().session, request().turn)


class Around:
    """What was told and waited for, in order."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    async def turn(self, place: CallPosition) -> None:
        self.seen.append(place)

    async def heard(self, asked: Request) -> None:
        self.seen.append(asked)


async def test_a_request_is_heard_then_waits_for_its_turn_then_gets_its_reply() -> None:
    around, reply = Around(), Reply(text="recorded", model="who answered then")
    model = RecordedModel({HERE: RecordedAnswer(reply)}, around.turn, around.heard)
    asked = request(model="another/model")
    assert await model.request_completion(asked) == reply
    assert around.seen == [asked, HERE]
    assert await model.find_model_problem("another/model", None, None) is None


async def test_a_failure_that_ended_a_session_ends_it_again() -> None:
    around = Around()
    answers = {
        HERE: RecordedAnswer(None, ContextOverflow.code, "too long"),
        (SessionId("other"), 0): RecordedAnswer(Reply(text="x")),
    }
    with pytest.raises(ContextOverflow, match="too long"):
        await RecordedModel(answers, around.turn, around.heard).request_completion(request())
