"""A conversation on the screen: followed as it goes on, opened item by item, searched whole."""

from collections.abc import Sequence
from typing import ClassVar

import anyio
from anyio import to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId
from orchestrator.errors import JournalProblem
from orchestrator.report.rows.row_filter import RowFilter
from orchestrator.tui.rows.empty_screens import NOTHING_SAID
from orchestrator.tui.rows.transcript import Transcript
from orchestrator.tui.rows.transcript_items import TranscriptLevel
from orchestrator.tui.run_feed.conversation_reader import FIRST_READ_EVENTS, ConversationReader
from orchestrator.tui.terminal.clipboard import copy_text
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.text_pager import LazyLines, LineList, LineSource, TextPager

_TYPING_S = 0.15
"""So long nobody must have typed before a long text is searched."""


class TranscriptPane(Vertical):
    """The transcript of one conversation. `last` bounds how many of its events are shown, for a preview."""

    KEYS: ClassVar[Sequence[tuple[str, str]]] = (
        *(("enter", "open/close"), ("v", "level"), ("E", "open all"), ("F", "follow"), ("W", "wrap")),
        *(("n/N", "next hit"), ("Y", "copy whole")),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "level", "Level", show=False, id="transcript.level"),
        Binding("E", "open_all", "Open all", show=False, id="transcript.open-all"),
        Binding("Y", "copy_block", "Copy whole", show=False, id="transcript.copy"),
    ]
    DEFAULT_CSS = "TranscriptPane { height: 1fr; }"

    class StatusChanged(Message):
        """The status text has changed."""

    def __init__(self, *, last: int | None = None, is_ascii: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.pager = TextPager(follow=True, empty=NOTHING_SAID)
        """The widget that shows the lines, also before and after it is part of a screen."""
        self._last, self._is_ascii = last, is_ascii
        self._reader: ConversationReader | None = None
        self.transcript: Transcript | None = None
        """The transcript that is shown; None before anything was read."""
        self._level = TranscriptLevel.NORMAL
        self._known_sign = -1
        self._until = 0
        self._is_reading = False
        self._are_all_open = False
        self._is_all = False
        self._opened: list[int] = []
        self._everything: Transcript | None = None

    def compose(self) -> ComposeResult:
        """Build the lines."""
        yield self.pager

    @property
    def status_text(self) -> str:
        """The way it is shown: `FOLLOW  level:normal  find: vendor 3/17`."""
        parts = ["FOLLOW"] * self.pager.is_following + ["wrap"] * self.pager.wrap
        parts.append(f"level:{self._level.name.lower()}")
        if found := self.pager.search_position:
            parts.append(f"find: {found.text} {found.rank}/{found.total}")
        return "  ".join(parts)

    def show_session(self, view_model: ViewModel, session: SessionId | None) -> None:
        """Show a conversation as it is in a view model; only what is new is read."""
        reader, known = None, view_model.seq
        if session is not None:
            reader = ConversationReader(view_model.directory, session, self._is_ascii)
            if last_event := view_model.last_session_events.get(session):
                known = hash((last_event, view_model.state.sessions.get(session)))
        if reader != self._reader or view_model.seq < self._until:
            self._reader, self.transcript, self._everything, self._known_sign = reader, None, None, -1
            self.pager.show_text(LineList())
        self._until = view_model.seq
        if self._reader is not None and known != self._known_sign and not self._is_reading:
            self._known_sign, self._is_reading = known, True
            self.run_worker(self._read(self._reader, view_model.seq), group="read", exit_on_error=True)

    async def _read(self, reader: ConversationReader, until: int) -> None:
        try:
            if self.transcript is None:
                await self._read_whole(reader, until)
            else:
                after = self.transcript.seq
                self._extend(reader, await to_thread.run_sync(reader.read_since, after, until))
        except JournalProblem as problem:
            self.pager.show_text(LineList([(str(problem), "bad")]))
        finally:
            self._is_reading = False

    async def _read_whole(self, reader: ConversationReader, until: int) -> None:
        """Read the end first, which people look at, then the whole conversation."""
        end, is_all = await to_thread.run_sync(reader.read_end, until, self._level, self._last or FIRST_READ_EVENTS)
        if reader != self._reader:
            return
        self._show_transcript(end)
        self._is_all = is_all
        if is_all or self._last:
            return
        whole = await to_thread.run_sync(reader.read_all, until, self._level)
        if reader == self._reader and self.transcript is end:
            place, is_following = self.pager.cursor + len(whole) - len(end), self.pager.is_following
            whole.set_level(self._level)
            self._is_all = True
            self._show_transcript(whole)
            if not is_following:
                self.pager.move_to(place)

    def _extend(self, reader: ConversationReader, events: Sequence[RecordedEvent]) -> None:
        if reader == self._reader and self.transcript is not None and events:
            if self._everything is not None:
                self._everything.extend(events)
            before, changed = len(self.transcript), self.transcript.extend(events)
            if changed < before:
                self.pager.invalidate_lines(changed)
            else:
                self.pager.update_length()

    def _show_transcript(self, transcript: Transcript) -> None:
        self.transcript, self._opened = transcript, []
        self.pager.show_text(LazyLines(transcript.__len__, transcript.get_styled_line), at_end=True)
        self.post_message(self.StatusChanged())

    def get_all_lines(self) -> LineSource | None:
        """Return all lines with all texts, as the conversation goes on; None while it has not been read."""
        if self.transcript is None or not self._is_all:
            return None
        everything = self._everything = self.transcript.copy_with_all_open()
        return LazyLines(lambda: everything.settled_count, everything.get_line)

    def apply_filter(self, wanted: RowFilter) -> None:
        """Search for words, also in closed items; stop searching if there are none."""
        self.pager.find_text("")
        if self.transcript is not None:
            self.run_worker(self._find(self.transcript, wanted.text), group="find", exclusive=True)

    async def _find(self, transcript: Transcript, text: str) -> None:
        """Close what the previous search opened, and open what this one finds once typing has paused."""
        if text:
            await anyio.sleep(_TYPING_S)
        if self._opened:
            transcript.open_items(self._opened, is_open=False)
        self._opened = []
        if text:
            self._opened = await to_thread.run_sync(transcript.find_closed_items, text)
        if transcript is self.transcript:
            transcript.open_items(self._opened)
            self.pager.invalidate_lines(0)
            self.pager.find_text(text)

    def on_text_pager_search_finished(self, event: TextPager.SearchFinished) -> None:
        """Show the number of hits beside the tabs."""
        self.post_message(self.StatusChanged())

    def on_text_pager_line_opened(self, event: TextPager.LineOpened) -> None:
        """Open or close the item with the cursor."""
        if self.transcript is not None:
            head = self.transcript.toggle_item(event.index)
            self.pager.invalidate_lines(head)
            self.pager.move_to(head)

    def action_level(self) -> None:
        """Show more, or the least again."""
        self._level = TranscriptLevel((self._level + 1) % len(TranscriptLevel))
        if self.transcript is not None:
            self.transcript.set_level(self._level)
            self.pager.invalidate_lines(0)
        self.post_message(self.StatusChanged())

    def action_open_all(self) -> None:
        """Open all that is shown, or close it."""
        self._are_all_open = not self._are_all_open
        if self.transcript is not None:
            self.transcript.open_all(self._are_all_open)
            self.pager.invalidate_lines(0)

    def action_copy_block(self) -> None:
        """Copy the whole item with the cursor, as it was said."""
        if self.transcript:
            self.notify(copy_text(self.app, self.transcript.get_item_text(self.pager.cursor)), markup=False)
