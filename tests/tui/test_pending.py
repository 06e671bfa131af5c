"""Commands on their way: whatever is pressed and whenever time passes, each is sent at most once, none too early."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.commands.definitions import Approve, Command
from orchestrator.domain.run.state import RunState
from orchestrator.tui.commands.pending_line import UNDO_WINDOW_S, UndoQueue, describe_command

STEPS = st.lists(st.one_of(st.sampled_from("abc"), st.just("undo"), st.integers(1, 9)), max_size=40)


@given(STEPS)
def test_a_command_is_sent_once_and_only_when_it_could_be_taken_back_for_five_seconds(steps: list[str | int]) -> None:
    sent: list[str] = []
    times: dict[str, float] = {}
    now = 0.0

    def send(command: Command) -> str:
        assert isinstance(command, Approve)
        assert now - times[command.item] >= UNDO_WINDOW_S
        sent.append(command.item)
        return f"{command.item}-{len(sent)}"

    pending = UndoQueue(send)
    for step in steps:
        if isinstance(step, int):
            now += step
            pending.send_due_commands(now)
        elif step == "undo":
            taken_back = [one.command for one in pending.undo_last_batch()]
            assert not set(map(describe_command, taken_back)) & {f"approve {item}" for item in sent}
        elif pending.hold_commands([(Approve(item=step), step)], now):
            times[step] = now
    now += UNDO_WINDOW_S
    pending.send_due_commands(now)
    assert sorted(set(sent)) == sorted(sent)
    assert pending.held_commands == ()


def test_a_command_can_be_given_again_when_an_engine_has_taken_the_first() -> None:
    pending = UndoQueue(lambda _command: "key")
    assert pending.hold_commands([(Approve(item="a"), "yes")], 0)
    pending.flush_commands()
    assert not pending.hold_commands([(Approve(item="a"), "yes")], 1)
    state = RunState()
    state.taken_commands["key"] = "a was answered already"
    (told,) = pending.collect_outcomes(state)
    assert (told.message, told.is_problem) == ("yes: refused: a was answered already", True)
    assert pending.collect_outcomes(state) == []
    assert pending.hold_commands([(Approve(item="a"), "yes")], 2)


def test_what_was_given_at_once_is_taken_back_at_once() -> None:
    pending = UndoQueue(lambda _command: "key")
    pending.hold_commands([(Approve(item="a"), "yes a")], 0)
    assert pending.hold_commands([(Approve(item=item), f"yes {item}") for item in "abc"], 1) == 2
    assert [one.description for one in pending.undo_last_batch()] == ["yes b", "yes c"]
    assert [one.description for one in pending.undo_last_batch()] == ["yes a"]
    assert pending.undo_last_batch() == []
