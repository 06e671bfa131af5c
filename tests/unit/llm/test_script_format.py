"""The TOML format of scripts: what it means, and how mistakes in it are reported."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.errors import UsageProblem
from orchestrator.llm.errors import ERROR_CLASSES, RateLimited
from orchestrator.llm.scripted_model.script import ScriptedCall, ScriptedReply, ScriptedUsage, read_script
from tests.loopback.builders import call, reply

WHOLE = """
schema = 1

[[reply]]
role = "worker"
task = "storage/index"
model = "some-model"
text = "Looking."
delay_s = 0.5
usage = {input = 100, output = 20, cached = 60}
cost_usd = 0.01
[[reply.call]]
tool = "shell"
arguments = {command = "ls", timeout_s = 5}
[[reply.call]]
tool = "edit"
raw = '{"path": '

[[reply]]
role = "judge"
task = "*"
error = "rate-limited"
retry_after_s = 2
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "play.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_script_is_read_in_file_order(tmp_path: Path) -> None:
    assert read_script(write(tmp_path, WHOLE)) == (
        ScriptedReply(
            role="worker",
            task="storage/index",
            model="some-model",
            text="Looking.",
            delay_s=0.5,
            usage=ScriptedUsage(input=100, output=20, cached=60),
            cost_usd=Decimal("0.01"),
            call=(
                ScriptedCall(tool="shell", arguments={"command": "ls", "timeout_s": 5}),
                ScriptedCall(tool="edit", raw='{"path": '),
            ),
        ),
        ScriptedReply(role="judge", task="*", error="rate-limited", retry_after_s=2),
    )


def test_arguments_become_json_and_raw_text_stays() -> None:
    assert call("edit", path="ä.py", lines=[1, 2]).text == '{"path": "ä.py", "lines": [1, 2]}'
    assert call("edit", raw='{"path": ').text == '{"path": '


def test_usage_and_cost_are_booked_and_an_unknown_price_is_counted() -> None:
    tokens = ScriptedUsage(input=100, output=20, cached=60)
    known = Usage(calls=1, input_tokens=100, output_tokens=20, cached_tokens=60, cost_usd=Decimal("0.01"))
    assert reply(usage=tokens, cost_usd=Decimal("0.01")).booked_usage == known
    assert reply(usage=tokens, cost_usd="unknown").booked_usage.cost_text == "unknown"
    assert reply().booked_usage.cost_text == "$0.00"


def test_every_error_code_makes_its_error() -> None:
    for code, error in ERROR_CLASSES.items():
        failure = reply(error=code).build_error("play.toml")
        assert type(failure) is error
        assert failure.code == code
    assert isinstance(limited := reply(error="rate-limited", retry_after_s=3).build_error("play.toml"), RateLimited)
    assert (str(limited), limited.retry_after_s) == ("play.toml: scripted rate-limited", 3)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("schema = 1\n[[reply]\n", "not valid TOML"),
        ("[[reply]]\n", "schema: Field required"),
        ("schema = 2\n", "schema: Input should be 1"),
        ("schema = 1\nfoo = 1\n", "foo: unknown key"),
        (
            'schema = 1\n\n[[reply]]\nrole = "worker"\ntask = "t"\ntext = "a"\n\n'
            '[[reply]]\nrole = "worker"\ntask = "t"\ntxt = "a"\n',
            "reply[1].txt (role worker, task t, near line 8): unknown key",
        ),
        (
            'schema = 1\n[[reply]]\nrole = "worker"\ntask = "t"\n[[reply.call]]\ntool = "shell"\n',
            "reply[0].call[0] (role worker, task t, near line 2): give either `arguments` or `raw`",
        ),
        (
            'schema = 1\nreply = [{role = "boss", task = "t", text = "a"}]\n',
            "reply[0].role (role boss, task t): Input should be 'planner', 'worker', 'judge', 'verifier' or 'arbiter'",
        ),
        ('schema = 1\nreply = [{role = "judge", task = "t"}]\n', "an item needs `text`, `call` or `error`"),
        ('schema = 1\nreply = [{role = "judge", task = "t", error = "oops"}]\n', "unknown error 'oops'; known: "),
        (
            'schema = 1\nreply = [{role = "judge", task = "t", error = "unavailable", text = "a"}]\n',
            "an item with `error` has neither `text` nor `call`",
        ),
        (
            'schema = 1\nreply = [{role = "judge", task = "t", error = "rate-limited", wire = "empty"}]\n',
            '`wire` belongs to `error = "unavailable"`',
        ),
        (
            'schema = 1\nreply = [{role = "judge", task = "t", text = "a", retry_after_s = 1}]\n',
            "`retry_after_s` belongs to an `error`",
        ),
        (
            'schema = 1\nreply = [{role = "judge", task = "t", text = "a", cost_usd = -1}]\n',
            "reply[0].cost_usd",
        ),
    ],
)
def test_a_mistake_is_reported_with_file_and_place(tmp_path: Path, text: str, complaint: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageProblem) as problem:
        read_script(path)
    assert complaint in str(problem.value)
    assert str(path) in str(problem.value)


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("[]", "the document"),
        ('"text"', "the document"),
        ('{"schema": 1, "reply": {"role": "worker"}}', "reply: "),
        ('{"schema": 1, "reply": ["text"]}', "reply[0] (role ?, task ?): "),
        ('{"schema": 1, "reply": [null, 7]}', "reply[1] (role ?, task ?): "),
        (
            '{"schema": 1, "reply": [{"role": "worker", "task": "t", "call": ["text"]}]}',
            "reply[0].call[0] (role worker",
        ),
        ('{"schema": 1, "reply": [{"role": [], "task": {}, "text": 3}]}', "reply[0].text (role [], task {}): "),
        (
            '{"schema": 1, "reply": [{"role": "worker", "task": "t", "text": "a", "delay_s": Infinity}]}',
            "reply[0].delay_s",
        ),
        ('{"schema": 1, "reply": ' + "[" * 100_000, "not valid"),
        ('{"schema": ' + "1" * 10_000 + "}", "not valid"),
    ],
)
def test_an_item_of_a_wrong_kind_is_reported_with_file_item_and_field(
    tmp_path: Path, document: str, complaint: str
) -> None:
    path = tmp_path / "script.json"
    path.write_text(document)
    with pytest.raises(UsageProblem) as problem:
        read_script(path)
    assert str(path) in str(problem.value)
    assert complaint in str(problem.value)


def test_a_missing_script_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"cannot read the script .*gone\.toml: No such file"):
        read_script(tmp_path / "gone.toml")


@pytest.mark.parametrize("text", ["[1]", '"x"', "3", "null", "[[[]]]"])
def test_a_document_that_is_no_table_is_told_as_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "play.json"
    path.write_text(text)
    with pytest.raises(UsageProblem, match=r"play\.json cannot be played:\n  the document: has to be a table with"):
        read_script(path)
