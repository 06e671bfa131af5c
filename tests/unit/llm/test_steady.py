"""What a replay takes out of texts before it compares them: times and made-up names, never a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.chat import Message, Request, ToolCall, ToolSpec
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.text.normalization import normalize_text
from orchestrator.llm.request_digest import hash_request
from prompts import fence_text

VOLATILE = [
    ("Ran 20 tests in 0.003s", "Ran 20 tests in 0.147s"),
    ("[exit code 0, 0.1 s]", "[exit code 0, 12.0 s]"),
    ("# duration_ms 41.9", "# duration_ms 7"),
    ("ok (12 ms)", "ok (9 ms)"),
    ("2026-01-02T03:04:05.678Z done", "2026-11-21 18:18:49+01:00 done"),
    ("Sat Nov 21 18:18:49 UTC 2026", "Sat Nov 22 08:01:00 UTC 2027"),
    ("-rw-r--r-- 1 me me 12 Nov 21 18:19 a.txt", "-rw-r--r-- 1 me me 12 Nov  3 2025 a.txt"),
    ("18:18:49 started", "18:18:50,123 started"),
    ("<Cart object at 0x7f3a5c0d1e50>", "<Cart object at 0x7fffffffffff>"),
    ("jumped to 0x55d0c0ffee00", "jumped to 0x55d0c0ffee99"),
    ("worker pid=4711 died", "worker pid=12 died"),
    ("==4711== lost bytes", "==12== lost bytes"),
    ("cannot open /tmp/tmpab_cdefg/x", "cannot open /tmp/tmpqwertyui/x"),
    ("cannot open '/tmp/tmp.sZ6bXyQwEe'", "cannot open '/tmp/tmp.AAAAAAAAAA'"),
    ("saw /tmp/vite-1Zk9/x", "saw /tmp/esbuild-77/x"),
    ("(receipt check/gate.0011aabb/4be21aa~0)", "(receipt check/gate.0011aabb/4be21aa~3)"),
]
WORDS = st.from_regex(r"[a-zA-Z]{1,12}", fullmatch=True)
PIECES = st.lists(st.one_of(WORDS, st.sampled_from([text for pair in VOLATILE for text in pair])), max_size=8)


@pytest.mark.parametrize(("one", "other"), VOLATILE)
def test_what_changes_by_itself_does_not_count(one: str, other: str) -> None:
    assert normalize_text(one) == normalize_text(other)


@pytest.mark.parametrize("label", ["diff", "evidence-names"])
def test_the_mark_of_a_fence_does_not_count_but_what_it_encloses_does(label: str) -> None:
    assert normalize_text(fence_text(label, "in 0.1s")) == normalize_text(fence_text(label, "in 0.2s"))
    assert normalize_text(fence_text(label, "+a")) != normalize_text(fence_text(label, "+b"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tree 4be21aa", "tree 4be21ab"),
        ("20 passed", "19 passed"),
        ("version 1.2.3", "version 1.2.4"),
        ("mask 0xff", "mask 0xfe"),
        ("wrote /tmp/results/x", "wrote /tmp/output/x"),
        ("calc.py:12:x", "calc.py:13:x"),
        ("exit code 1", "exit code 2"),
        ("check/gate.0011aabb/4be21aa~0", "check/gate.0011aabb/4be21ab~0"),
    ],
)
def test_facts_count(one: str, other: str) -> None:
    assert normalize_text(one) != normalize_text(other)


@given(st.lists(st.one_of(st.text(), st.sampled_from([text for pair in VOLATILE for text in pair]))).map("".join))
def test_steady_is_idempotent(text: str) -> None:
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(PIECES, PIECES, WORDS, WORDS)
def test_a_changed_word_is_never_hidden(before: list[str], after: list[str], one: str, other: str) -> None:
    texts = [" ".join([*before, word, *after]) for word in (one, other)]
    assert (normalize_text(texts[0]) == normalize_text(texts[1])) == (one == other)


def test_system_prompts_and_the_models_own_words_are_compared_as_they_are() -> None:
    for role in ("system", "assistant"):
        message = Message(role=role, text="wait 5 s")
        assert message.normalize_words() == message


def request(**changes: object) -> Request:
    messages = (
        Message(role="system", text="You work."),
        Message(role="user", text="Task: api"),
        Message(role="assistant", tool_calls=(ToolCall(id="c", name="shell", arguments="{}"),)),
        Message(role="tool", call_id="c", text="[exit code 0, 0.1 s]"),
    )
    made = Request(
        role="worker",
        task=TaskId("api"),
        session=SessionId("work:api@1"),
        turn=1,
        model="m",
        messages=messages,
        tools=(ToolSpec(name="shell", description="runs", parameters={"type": "object"}),),
    )
    return made.model_copy(update=changes)


def test_a_requests_sha_sees_messages_and_tools_and_neither_model_nor_time() -> None:
    sha = hash_request(request())
    *first, last = request().messages
    later = (*first, last.model_copy(update={"text": "[exit code 0, 9.7 s]"}))
    failed = (*first, last.model_copy(update={"text": "[exit code 1, 0.1 s]"}))
    assert hash_request(request(messages=later, model="other", temperature=0.5)) == sha
    assert hash_request(request(messages=failed)) != sha
    assert hash_request(request(messages=tuple(first))) != sha
    assert hash_request(request(tools=())) != sha


def test_a_changed_copy_of_a_message_has_a_sha_of_its_own() -> None:
    asked = request()
    sha = hash_request(asked)
    *first, last = asked.messages
    changed = last.model_copy(update={"text": "[exit code 1, 0.1 s]"})
    assert hash_request(request(messages=(*first, changed))) != sha
    assert changed.size_chars == len(changed.text)
