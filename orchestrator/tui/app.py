"""The dashboard itself: a frame around views, fed with moments four times a second. Its end ends nothing but itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.filter import LineFilter

from orchestrator.domain.commands.catalog import TYPED_COMMANDS
from orchestrator.domain.text.listing import format_count
from orchestrator.errors import UsageProblem
from orchestrator.tui import keymap
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.commands.command_bar import CommandBar, CopyOpener
from orchestrator.tui.filter_box import FilterBox
from orchestrator.tui.frame_lines import build_header_line, build_key_line, build_tab_line, count_waiting
from orchestrator.tui.gauges import build_gauge_line
from orchestrator.tui.host_line import build_host_line
from orchestrator.tui.leavable_app import LeavableApp
from orchestrator.tui.screens.narrowed_lists import CommandPaletteScreen, KeyHelp
from orchestrator.tui.settings import DEFAULT_SETTINGS, DashboardSettings
from orchestrator.tui.terminal.alerts import Alerts, collect_alert_messages, format_osc_9
from orchestrator.tui.terminal.clipboard import copy_text
from orchestrator.tui.terminal.line_filters import AsciiFilter, ControlCharacterFilter
from orchestrator.tui.terminal.stream_mode import StreamMode, can_stream
from orchestrator.tui.theme import COLOUR_SCHEMES, get_theme_style
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.view_stack import ViewStack
from orchestrator.tui.views.base_view import DashboardView
from orchestrator.tui.widgets.styled_line import StyledLine

if TYPE_CHECKING:
    from orchestrator.tui.panes.diff import CommentSubmitted
    from orchestrator.tui.run_feed.feed import RunFeed

_TICK_S = 1 / 4
_CALL_S = 2.0
_SPEED_FACTORS = {"faster": 2.0, "slower": 0.5}
_OWN = {"filter": "show only what fits; nothing shows all", "quit": "leave; the run goes on"}
_WIDTHS = [(0, "-narrow"), (80, "-list"), (100, "-roomy"), (140, "-wide")]
GAUGE_LINES = 20
"""Lines of the screen from which on there is one for gauges."""
_HEIGHTS = [(0, "-low"), (GAUGE_LINES, "-high")]
"""Classes of the screen from so many columns and lines up, for what views look like."""


class Dashboard(LeavableApp):
    """The dashboard of `orchestrate watch`. It reads `source`, acts through `actions`, and knows no engine."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    CSS = """
    Screen { background: $background; color: $foreground; }
    ModalScreen { background: $background 60%; }
    #hosts { display: none; }
    #head, #tabs, #problem, #keys { background: $panel; }
    .-low #gauges, .-low #inbox-question { display: none; }
    .-low Panel { border: none; }
    .-low .-detail #inbox-question { display: block; }
    .-roomy > .-optional { border: round $border-blurred; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keymap.build_bindings()

    def __init__(
        self, source: "RunFeed", actions: DashboardActions, settings: DashboardSettings = DEFAULT_SETTINGS
    ) -> None:
        super().__init__(actions)
        self.settings = settings
        self._source = source
        self._last_filter = ""
        self._alerts = Alerts(settings.quiet_s)
        self._streaming: StreamMode | None = None
        self._line_filters: list[LineFilter] = [ControlCharacterFilter()]
        if settings.is_ascii:
            self._line_filters.append(AsciiFilter())
        for palette in COLOUR_SCHEMES.values():
            self.register_theme(palette.build_theme())
        self.theme = settings.theme
        self.set_keymap(keymap.build_keymap(settings.keys))
        if not settings.has_animations:
            self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """Build the frame; a view is built when it is first in front."""
        yield StyledLine(id="head")
        yield StyledLine(id="tabs")
        yield StyledLine(id="gauges")
        yield StyledLine(id="hosts")
        yield StyledLine(id="problem")
        yield ViewStack()
        yield FilterBox()
        yield CommandBar()
        yield StyledLine(id="keys")

    async def on_mount(self) -> None:
        """Start to read the source and show the first tab."""
        # after ctrl+z and fg nothing is left on the terminal
        self.app_resume_signal.subscribe(self, lambda _app: self.refresh(layout=True))
        self._source.start()
        self.run_worker(self._source.fold_until_closed())
        self.run_every(_TICK_S, self.update_from_source)
        self.run_every(_CALL_S, self.alert_user)
        await self.action_tab("1")
        self.update_from_source()

    def run_every(self, seconds: float, act: Callable[[], object]) -> None:
        """Call `act` every `seconds` while there is a screen: Textual ends the screens before the timers."""
        self.set_interval(seconds, lambda: self.is_running and not self._exit and act())

    def on_unmount(self) -> None:
        """Close the source."""
        self._source.close()

    # --- what is shown -----------------------------------------------------------------------------------------------

    @property
    def view_stack(self) -> ViewStack:
        """The views."""
        return self.screen_stack[0].query_one(ViewStack)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters that every line passes before it is drawn."""
        return [*super().get_line_filters(), *self._line_filters]

    def get_style(self, name: str) -> Style:
        """Return a style of the present theme by the name that views give it."""
        return get_theme_style(name, self.theme)

    def update_from_source(self) -> None:
        """Show the newest view model in the frame and in the view in front."""
        if (found := self._source.get_view_model()) is not None:
            self.view_model = replace(found, is_read_only=found.is_read_only or self.settings.is_read_only)
            self.view_stack.show_view_model(self.view_model)
        self._paint()

    def on_resize(self, _event: Resize) -> None:
        """Paint the frame for another width."""
        self._paint()

    def _paint(self) -> None:
        width, height = self.size
        frame, front = self.screen_stack[0], self.view_stack
        if self.view_model is not None:
            self._paint_run(self.view_model)
        problem = frame.query_one("#problem", StyledLine)
        problem.display = bool(self._source.problem)
        problem.show_spans([(self._source.problem, "warn")])
        footer_keys = (*keymap.PLAYBACK_KEYS * bool(self._source.replay), *keymap.FOOTER_KEYS)
        keys = build_key_line(front.keys, footer_keys, width, height)
        frame.query_one("#keys", StyledLine).show_spans(keys)
        counts = count_waiting(self.view_model.state) if self.view_model else {}
        tabs = build_tab_line(front.tabs, front.tab_key, counts, front.status_text, width)
        frame.query_one("#tabs", StyledLine).show_spans(tabs)

    def _paint_run(self, view_model: ViewModel) -> None:
        """Paint the lines about the run as a whole."""
        (width, height), is_ascii, frame = self.size, self.settings.is_ascii, self.screen_stack[0]
        has_gauges = height >= GAUGE_LINES
        replay = self._source.replay
        head = build_header_line(view_model, width, replay, is_ascii=is_ascii, has_gauges=has_gauges)
        frame.query_one("#head", StyledLine).show_spans(head)
        if has_gauges:
            gauges = build_gauge_line(view_model.state, view_model.now, width, is_ascii=is_ascii)
            frame.query_one("#gauges", StyledLine).show_spans(gauges)
        hosts = build_host_line(view_model.state, width, is_at_work=view_model.is_at_work)
        line = frame.query_one("#hosts", StyledLine)
        line.display = has_gauges and bool(hosts)
        line.show_spans(hosts)

    # --- tabs and filters --------------------------------------------------------------------------------------------

    async def on_styled_line_span_clicked(self, event: StyledLine.SpanClicked) -> None:
        """Bring a clicked tab to the front, or press the key whose name was clicked."""
        tabs = self.view_stack.tabs
        if event.line.id == "tabs" and event.span < len(tabs):
            await self.action_tab(tabs[event.span].key)
        elif key := keymap.parse_shown_key(event.key):
            self.simulate_key(key)

    async def on_dashboard_view_open_requested(self, event: DashboardView.OpenRequested) -> None:
        """Show one thing whole, or the tab on which it is."""
        await self.view_stack.open_subject(event.subject)
        self._paint()

    async def action_tab(self, key: str) -> None:
        """Bring a tab to the front."""
        await self.view_stack.switch_to_tab(key)
        self._paint()

    async def action_turn(self, by: int) -> None:
        """Bring the next tab to the front, or the one before."""
        await self.view_stack.switch_tab_by(by)
        self._paint()

    async def action_back(self) -> None:
        """Go back to where the view in front was opened; on a tab, remove the filter."""
        if not await self.view_stack.go_back():
            self.view_stack.apply_filter_text("")
        self._paint()

    def action_filter(self) -> None:
        """Open the box for a filter."""
        self.view_stack.screen.query_one(FilterBox).open_with_text(self._last_filter)

    def on_filter_box_filter_changed(self, event: FilterBox.FilterChanged) -> None:
        """Apply a filter that is being typed or was entered."""
        box, wrong = self.view_stack.screen.query_one(FilterBox), self.view_stack.apply_filter_text(event.text)
        box.show_problem(wrong)
        if event.is_final and not wrong:
            self._last_filter = event.text or self._last_filter
            box.hide_box()
            self.view_stack.focus_view()
        self._paint()

    # --- help, commands, copies --------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """Show all keys."""
        found = self.screen.active_bindings.items()
        inner = {key: active.binding.description for key, active in found if active.node not in {self, self.screen}}
        self.push_screen(KeyHelp(keymap.build_help_rows(self.view_stack.keys, inner, self.settings.keys)))

    def action_palette(self) -> None:
        """Open the command palette."""
        verbs = {name: verb.summary for name, verb in TYPED_COMMANDS.items()}
        places = {tab.title.lower(): f"tab {tab.key}" for tab in self.view_stack.tabs}
        self.push_screen(CommandPaletteScreen(verbs | places | _OWN, self._carry_out))

    def _carry_out(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        tabs = {tab.title.lower(): tab.key for tab in self.view_stack.tabs}
        if word == "quit":
            self.action_detach()
        elif word in tabs and not rest:
            self.call_later(self.action_tab, tabs[word])  # once the palette is shut
        elif word == "filter":
            if wrong := self.view_stack.apply_filter_text(rest):
                raise UsageProblem(wrong)
        else:
            self.command_bar.run_typed_command(text)

    @property
    def command_bar(self) -> CommandBar:
        """The line that builds, holds and sends commands."""
        return self.screen_stack[0].query_one(CommandBar)

    def action_act(self, name: str) -> None:
        """Do what a key stands for to what is selected."""
        self.command_bar.run_key_action(name)

    def on_comment_submitted(self, event: "CommentSubmitted") -> None:
        """Keep a comment on a line of the change in front."""
        self.command_bar.add_line_comment(event.path, event.line, event.text)

    def action_review(self) -> None:
        """Send all comments on lines."""
        self.command_bar.submit_review()

    def action_open(self, how: CopyOpener) -> None:
        """Open a copy of what is selected in an editor or a shell."""
        self.command_bar.open_copy(how)

    def action_edit_plan(self) -> None:
        """Change the plan that waits in an editor, and approve it so."""
        self.command_bar.edit_plan()

    def action_undo(self) -> None:
        """Undo the last command while it is held."""
        self.command_bar.undo_last_commands()

    def action_copy(self) -> None:
        """Copy the titles of what is selected to the clipboard."""
        if (view := self.view_stack.current_view) is not None and view.selected_subjects:
            self.show_message(copy_text(self.app, "\n".join(subject.label for subject in view.selected_subjects)))

    def action_stream(self) -> None:
        """Print the lines of what is in front on the terminal's own screen, until the key comes again."""
        view = self.view_stack.current_view
        if view is None or (lines := view.find_stream_lines()) is None or not can_stream(self):
            self.show_message("there are no lines to print here", is_problem=True)
        elif self._streaming is None:
            self._streaming = StreamMode(self, lines)  # at once: the key may be pressed twice
            self.run_worker(self._stream(self._streaming, view.TITLE))

    async def _stream(self, streaming: StreamMode, title: str) -> None:
        keys = self.settings.keys.get("stream") or next(key.keys for key in keymap.GLOBAL_KEYS if key.id == "stream")
        try:
            count = await streaming.run(title, keys.split(","))
        finally:
            self._streaming = None
        self.show_message(f"{format_count(count, 'line')} printed")

    def action_replay(self, what: str) -> None:
        """Hold the recording, play it slower or faster, or jump to its end."""
        replay = self._source.replay
        match what:
            case _ if replay is None:
                self.show_message("this is no recording: orchestrate watch --replay RUN plays one", is_problem=True)
            case "hold":
                replay.is_paused = not replay.is_paused
            case "end":
                replay.is_paused = False
                replay.jump_to_end()
            case _:
                replay.speed *= _SPEED_FACTORS[what]
        self.update_from_source()

    # --- alerts ------------------------------------------------------------------------------------------------------

    def alert_user(self) -> None:
        """Ring or notify if something new calls for a person."""
        view_model, settings = self.view_model, self.settings
        if view_model is None or self.command_bar.is_suspended or not (settings.bell or settings.notifications):
            return
        words = self._alerts.compose_alert(collect_alert_messages(view_model))
        if words and settings.bell:
            self.bell()
        if words and settings.notifications and self._streaming is None and self._driver is not None:
            self._driver.write(format_osc_9(view_model.state.run.run, words))

    def bell(self) -> None:
        """Ring, also while the terminal is in stream mode."""
        if self._streaming is not None:
            self._streaming.ring_bell()
        else:
            super().bell()
