"""A conversation as lines: each line is there once, texts that are closed cost nothing, and nothing in them is live."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.event import Event, RecordedEvent, work
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Exit
from orchestrator.domain.text.blob_text import Text
from orchestrator.report.log.last_event import find_last_session_event
from orchestrator.tui.rows.transcript import Transcript
from orchestrator.tui.rows.transcript_items import TranscriptLevel, build_item
from tests.tui.sources import render_transcript_lines

DAY = datetime(2026, 1, 1, tzinfo=UTC)
SHARED = {"task": TaskId("a"), "session": SessionId("work:a@1")}
WORDS = st.text(st.sampled_from("ab \n\t\x1b[é\u202e"), max_size=30)


def reply(turn: int, text: str, *tools: str) -> work.ModelReplied:
    return work.ModelReplied(
        **SHARED,
        key=f"model/{turn}~0",
        turn=turn,
        role="worker",
        model="m",
        text=Text.build_inline(text),
        tool_calls=tuple(ToolCall(id=f"c{number}", name=name, arguments="{}") for number, name in enumerate(tools)),
        finish_reason="stop",
        usage=Usage(calls=1, unpriced_calls=1),
        seconds=1.0,
    )


def tool(turn: int, arguments: str, returned: Text | None, *, name: str = "shell", ok: bool = True) -> list[Event]:
    key = f"tool/{turn}~0"
    called = work.ToolCalled(**SHARED, key=key, turn=turn, name=name, arguments=Text.build_inline(arguments))
    if returned is None:
        return [called]
    done = work.ToolReturned(
        **SHARED, key=key, turn=turn, call_id="c", name=name, ok=ok, observation=returned, seconds=0.4
    )
    return [called, done]


def ended() -> work.SessionEnded:
    return work.SessionEnded(**SHARED, exit=Exit.FINISHED)


def recorded(events: list[Event], first: int = 1) -> list[RecordedEvent]:
    return [RecordedEvent(seq, DAY + timedelta(seconds=seq), event) for seq, event in enumerate(events, first)]


def no_blob(sha: str) -> bytes:
    raise AssertionError(f"blob {sha} is read although nobody looks at it")


def lines_of(transcript: Transcript) -> list[str]:
    return [transcript.get_line(index) for index in range(len(transcript))]


def test_what_a_model_thought_stands_below_its_reply() -> None:
    thought = reply(0, "Done.").model_copy(update={"reasoning": Text.build_inline("I doubt it.\nOr not.")})
    item = build_item(1, recorded([thought])[0])
    assert list(item.iterate_body_lines(no_blob)) == ["thought before:", "I doubt it.", "Or not."]


CONVERSATION = st.lists(
    st.one_of(
        WORDS.map(lambda text: [reply(0, text)]),
        st.tuples(WORDS, WORDS).map(lambda both: tool(0, both[0], Text.build_inline(both[1]))),
        st.just([ended()]),
    ),
    max_size=12,
)


def numbered(groups: list[list[Event]]) -> list[Event]:
    """Every tool call has a key of its own."""
    return [
        event.model_copy(update={"key": f"k{place}~0"}) if hasattr(event, "key") else event
        for place, group in enumerate(groups)
        for event in group
    ]


@given(groups=CONVERSATION, parts=st.lists(st.integers(0, 24), max_size=4), level=st.sampled_from(TranscriptLevel))
def test_lines_are_the_same_however_events_come_in(
    groups: list[list[Event]], parts: list[int], level: TranscriptLevel
) -> None:
    events = recorded(numbered(groups))
    whole, piecemeal = Transcript(no_blob, level), Transcript(no_blob, level)
    whole.extend(events)
    cuts = [0, *sorted(min(part, len(events)) for part in parts), len(events)]
    for start, end in pairwise(cuts):
        before = lines_of(piecemeal)
        same = piecemeal.extend(events[start:end])
        assert lines_of(piecemeal)[:same] == before[:same]
    assert lines_of(piecemeal) == lines_of(whole)


@given(groups=CONVERSATION, where=st.lists(st.integers(0, 200), max_size=6))
def test_opening_and_closing_again_changes_nothing(groups: list[list[Event]], where: list[int]) -> None:
    transcript = Transcript(no_blob)
    transcript.extend(recorded(numbered(groups)))
    before = lines_of(transcript)
    for line in where:
        if line < len(transcript):
            head = transcript.toggle_item(line)
            transcript.toggle_item(head)
    assert lines_of(transcript) == before


@given(groups=CONVERSATION, wanted=st.sampled_from(["a", "ab", "b a", "é", "zz"]))
def test_what_is_opened_for_a_search_is_all_that_holds_the_words(groups: list[list[Event]], wanted: str) -> None:
    transcript, whole = Transcript(no_blob, TranscriptLevel.VERBOSE), Transcript(no_blob, TranscriptLevel.VERBOSE)
    for one in (transcript, whole):
        one.extend(recorded(numbered(groups)))
    whole.open_all(True)
    transcript.open_items(transcript.find_closed_items(wanted))
    assert [line for line in _below(transcript) if wanted in line] == [line for line in _below(whole) if wanted in line]


def _below(transcript: Transcript) -> list[str]:
    titles = {"asked:", "returned:", "it is told:", "its instructions:"}
    return [line for line in lines_of(transcript) if not line.startswith("#") and line.strip() not in titles]


@given(groups=CONVERSATION)
def test_no_line_can_steer_a_terminal(groups: list[list[Event]]) -> None:
    for line in render_transcript_lines(recorded(numbered(groups)), no_blob):
        assert not {"\x1b", "\u202e", "\n"} & set(line)


def test_a_long_text_is_read_only_when_it_is_opened() -> None:
    text = "".join(f"line {number}\n" for number in range(3_000)).rstrip()
    sha = sha256(text.encode()).hexdigest()
    read: list[str] = []
    blobs: Mapping[str, bytes] = {sha: text.encode()}

    def read_blob(wanted: str) -> bytes:
        read.append(wanted)
        return blobs[wanted]

    transcript = Transcript(read_blob)
    observation = Text(head=text[:4_000], size=len(text), sha=sha)
    transcript.extend(recorded(tool(0, '{"command": "seq 3000"}', observation)))
    assert [line[16:] for line in lines_of(transcript)] == ["▸ tool  shell seq 3000 ok 0.4 s"]
    assert not read
    transcript.toggle_item(0)
    assert len(transcript) == 1 + 2 + 1 + 3_000
    assert transcript.get_line(len(transcript) - 1).strip() == "line 2999"


def test_a_search_opens_what_was_closed() -> None:
    transcript = Transcript(no_blob)
    transcript.extend(recorded([reply(0, "I look"), *tool(1, "{}", Text.build_inline("one\nthe needle\n")), ended()]))
    transcript.open_items(transcript.find_closed_items("Needle"))
    assert [line.strip() for line in lines_of(transcript) if "needle" in line] == ["the needle"]


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (TranscriptLevel.QUIET, ["say", "fail", "end"]),
        (TranscriptLevel.NORMAL, ["say", "tool", "fail", "end"]),
        (TranscriptLevel.VERBOSE, ["say", "tool", "reply", "fail", "end"]),
    ],
)
def test_each_level_shows_more(level: TranscriptLevel, words: list[str]) -> None:
    failed = work.ModelFailed(
        **SHARED, key="k~1", turn=2, role="worker", model="m", error="overloaded", detail="busy", retry_in_s=None
    )
    transcript = Transcript(no_blob, level)
    transcript.extend(recorded([reply(0, "hello"), *tool(0, "{}", None), reply(1, "", "shell"), failed, ended()]))
    assert [line[18:].split()[0] for line in lines_of(transcript)] == words


def test_a_block_is_copied_as_it_was_said() -> None:
    transcript = Transcript(no_blob)
    transcript.extend(recorded([reply(0, "first\n  second")]))
    assert transcript.get_item_text(1) == "first\n  second"


@pytest.mark.parametrize("nested", ["[" * 3_500, '{"a":' * 700 + "1" + "}" * 700], ids=["no-json", "deep"])
def test_arguments_nested_deeper_than_anybody_reads_are_shown_all_the_same(nested: str) -> None:
    transcript = Transcript(no_blob, opens_all=True)
    transcript.extend(recorded(tool(0, nested, Text.build_inline("ok"))))
    assert transcript.find_closed_items("nowhere") == []
    assert nested[:4] in "".join("".join(lines_of(transcript)).split())
    told = find_last_session_event(recorded(tool(0, nested, None)))
    assert told is not None
    assert told.words.startswith("shell ")
