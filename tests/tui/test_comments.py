"""Comments on lines of a change: collected, sent as one note, and there again when that is taken back."""

from collections.abc import Sequence

import pytest
from textual.widgets import Input

from orchestrator.domain.commands.definitions import Command, Retry, RetryFiles, SendBack
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.errors import UsageProblem
from orchestrator.tui.commands.command_bar import LineComment, ReviewComments
from orchestrator.tui.commands.pending_line import describe_command
from orchestrator.tui.panes.diff import CommentSubmitted
from orchestrator.tui.views.base_view import Subject
from tests.tui.asking import LANDING, LATER, TIERS, Asking
from tests.tui.sources import Sent, Still, dashboard, kept

TIER = TIERS[0].model_copy(update={"item": "tier/discounts/1", "subject": "discounts/1"})
SAID = ((3, "use Decimal"), (12, "why?"))
NOTE = """A person looked at the change and says of these lines:
shop/cart.py:3: use Decimal
shop/cart.py:12: why?"""


async def send_comments(question: Approval) -> Sequence[Command]:
    """Say something of three lines beside a question, take the sending back, and send it after all."""
    sent = Sent()
    app = dashboard(Asking(LATER, question), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        app.command_bar.clock = lambda: 0.0
        await pilot.press("4")
        for line, text in ((12, "what?"), (3, "use Decimal"), (12, "why?")):
            app.post_message(CommentSubmitted("shop/cart.py", line, text))
        await pilot.pause()
        await pilot.press("S", "u", "S", "S")
        app.command_bar.clock = lambda: 5.0
        app.command_bar.send_due_commands()
    return sent.commands


async def test_what_is_said_of_lines_goes_to_the_worker_as_one_retry() -> None:
    assert await send_comments(TIER) == [Retry(task=TaskId("discounts"), note=NOTE)]


async def test_a_comment_can_be_typed_at_a_line_of_the_diff() -> None:
    app = dashboard(Asking(LATER))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("1", "enter", "d")
        await pilot.pause()
        assert app.view_stack.current_view is not None
        assert app.view_stack.current_view.selected_subjects, "comments need to know what they are about"
        assert app.view_stack.current_view.query(Input)


def test_a_file_of_a_migration_is_tried_again_with_what_was_said_of_it() -> None:
    state = Still(kept("migration.v1")).state
    comments = ReviewComments()
    comments.add_comment(LineComment(Subject("file", "shop/mail.py"), "shop/mail.py", 1, "no"))
    (command,) = comments.build_commands(state)
    assert isinstance(command, RetryFiles)
    assert (command.files, command.note.splitlines()[1:]) == (("shop/mail.py",), ["shop/mail.py:1: no"])


async def test_what_is_said_of_a_change_that_waits_is_sent_back_with_the_note() -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        app.command_bar.clock = lambda: 0.0
        await pilot.press("4")
        app.post_message(CommentSubmitted("shop/cart.py", 3, "use Decimal"))
        await pilot.pause()
        await pilot.press("b", "enter", "u", "b", *"all of it", "enter")
        await pilot.pause()
        app.command_bar.clock = lambda: 5.0
        app.command_bar.send_due_commands()
    comment = ReviewComment(path="shop/cart.py", line=3, text="use Decimal")
    assert sent.commands == [SendBack(item=LANDING.item, note="all of it", comments=(comment,))]


async def test_what_was_said_of_a_change_that_waits_can_be_sent_without_a_note() -> None:
    said = [
        ReviewComment(path="shop/cart.py", line=line, text=text) for line, text in ((3, "use Decimal"), (12, "why?"))
    ]
    assert await send_comments(LANDING) == [SendBack(item=LANDING.item, comments=tuple(said))]


def test_what_is_held_is_told_in_one_line_however_much_was_said() -> None:
    words = describe_command(Retry(task=TaskId("discounts"), note=NOTE))
    assert words.startswith("retry discounts (A person looked at the change")
    assert "\n" not in words
    assert len(words) < 100


def test_an_emptied_comment_is_none() -> None:
    comments = ReviewComments()
    comments.add_comment(LineComment(Subject("task", "a"), "x", 1, "no"))
    comments.add_comment(LineComment(Subject("task", "a"), "x", 1, " "))
    with pytest.raises(UsageProblem, match="nothing was said"):
        comments.build_commands(Asking(LATER).state)
