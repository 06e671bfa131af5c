"""The dashboard itself: a frame around views, fed with moments four times a second. Its end ends nothing but itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.filter import LineFilter

from orchestrator.domain.command import Command, Stop
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.report.news import news
from orchestrator.tui.acts.acts import Acts, Opening
from orchestrator.tui.acts.verbs import VERBS
from orchestrator.tui.alerts import Alerts, osc_9
from orchestrator.tui.ascii import Ascii
from orchestrator.tui.doors import Doors
from orchestrator.tui.filterbox import FilterBox
from orchestrator.tui.front import Front
from orchestrator.tui.header import TabLine, header_line, key_line, waiting_counts
from orchestrator.tui.help import Help
from orchestrator.tui.inert import Inert
from orchestrator.tui.keymap import FOOTER, GLOBAL, RECORDING, bindings, help_rows, pressed, remapped
from orchestrator.tui.leaving import Leaving, Way
from orchestrator.tui.look import USUAL, Look
from orchestrator.tui.moment import Connection, Moment
from orchestrator.tui.palette import Palette
from orchestrator.tui.source import Source
from orchestrator.tui.stream import Streaming, can_stream
from orchestrator.tui.theme import PALETTES, style
from orchestrator.tui.view import View
from orchestrator.tui.widgets.copying import copy
from orchestrator.tui.widgets.line import Line

if TYPE_CHECKING:
    from orchestrator.tui.views.worker_diff import Commented

_TICK_S = 1 / 4
_CALL_S = 2.0
_TWICE_S = 3.0
_OWN = {"filter": "show only what fits; nothing shows all", "quit": "leave; the run goes on"}
_WIDTHS = [(0, "-narrow"), (80, "-list"), (100, "-roomy"), (140, "-wide")]
_HEIGHTS = [(0, "-low"), (20, "-high")]
"""Classes of the screen from so many columns and lines up, for what views look like."""


class Dashboard(App[None]):
    """What `orchestrate watch` shows. It reads `source`, acts through `doors`, and knows no engine."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS
    CSS = """
    Screen { background: $background; color: $foreground; }
    ModalScreen { background: $background 60%; }
    #head, #tabs, #problem, #keys { background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(self, source: Source, doors: Doors, look: Look = USUAL) -> None:
        super().__init__()
        self.doors, self.look = doors, look
        self.moment: Moment | None = None
        self.before_leaving: list[Callable[[], None]] = []
        self.crashed: Exception | None = None
        self._source = source
        self._tab_line: TabLine | None = None
        self._last_filter = ""
        self._alerts = Alerts(look.quiet_s)
        self._streaming: Streaming | None = None
        self._has_interrupted = False
        self._line_filters = [Inert(), *([Ascii()] if look.is_ascii else [])]
        for palette in PALETTES.values():
            self.register_theme(palette.theme())
        self.theme = look.theme
        self.set_keymap(remapped(look.keys))
        if not look.has_animations:
            self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """The frame; views come when they are first in front."""
        yield Line(id="head")
        yield Line(id="tabs")
        yield Line(id="problem")
        yield Front()
        yield FilterBox()
        yield Acts()
        yield Line(id="keys")

    async def on_mount(self) -> None:
        """Begin to read."""
        self.app_resume_signal.subscribe(self, self._draw_all)
        self._source.start()
        self.run_worker(self._source.keep_up())
        self.every(_TICK_S, self.look_again)
        self.every(_CALL_S, self.call)
        await self.action_tab("1")
        self.look_again()

    def every(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something again and again while there is a screen: Textual ends the screens before the timers."""
        self.set_interval(seconds, lambda: act() if self.is_running and not self._exit else None)

    def _draw_all(self, _app: object) -> None:
        """After ctrl+z and fg nothing of what was drawn is there any more."""
        self.refresh(layout=True)

    def on_unmount(self) -> None:
        """Read no more."""
        self._source.close()

    # --- what is shown -----------------------------------------------------------------------------------------------

    @property
    def front(self) -> Front:
        """The views."""
        return self.screen_stack[0].query_one(Front)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is done to every line before it is drawn."""
        return [*super().get_line_filters(), *self._line_filters]

    def style_of(self, name: str) -> Style:
        """A style by the name that views give it, in the present theme."""
        return style(name, self.theme)

    def look_again(self) -> None:
        """One tick: the newest moment into the frame and into the view in front."""
        if (found := self._source.look()) is not None:
            self.moment = replace(found, is_read_only=found.is_read_only or self.look.is_read_only)
            self.front.show(self.moment)
        self._paint()

    def on_resize(self, _event: Resize) -> None:
        """Another width has room for other things."""
        self._paint()

    def _paint(self) -> None:
        width, height = self.size
        frame, front = self.screen_stack[0], self.front
        view = front.view
        if self.moment is not None:
            head = header_line(self.moment, width, self._source.replay, is_ascii=self.look.is_ascii)
            frame.query_one("#head", Line).put(head)
        problem = frame.query_one("#problem", Line)
        problem.display = bool(self._source.problem)
        problem.put([(self._source.problem, "warn")])
        common = FOOTER if self._source.replay is None else (*RECORDING, *FOOTER)
        frame.query_one("#keys", Line).put(key_line(view.KEYS if view else (), common, width, height))
        counts = waiting_counts(self.moment.state) if self.moment else {}
        told = (
            f"filter: {front.filter.text}" if front.filter.text else "",
            f"[{view.told}]" if view and view.told else "",
        )
        self._tab_line = TabLine(front.tabs, front.key, counts, "  ".join(filter(None, told)), width)
        frame.query_one("#tabs", Line).put(self._tab_line.spans)

    # --- tabs and filters --------------------------------------------------------------------------------------------

    async def on_line_clicked(self, event: Line.Clicked) -> None:
        """A click on a tab brings it to the front; one on the name of a key presses it."""
        if event.line.id == "tabs" and self._tab_line and (key := self._tab_line.key_of(event.span)):
            await self.action_tab(key)
        elif key := pressed(event.key):
            self.simulate_key(key)

    async def on_view_opened(self, event: View.Opened) -> None:
        """Show one thing whole, or the tab on which it is."""
        await self.front.open(event.subject)
        self._paint()

    async def action_tab(self, key: str) -> None:
        """Bring a tab to the front."""
        await self.front.to_tab(key)
        self._paint()

    async def action_turn(self, by: int) -> None:
        """The next tab, or the one before."""
        await self.front.turn(by)
        self._paint()

    async def action_back(self) -> None:
        """From one thing to where it was opened; else without the filter."""
        if not await self.front.back():
            self.front.narrow("")
        self._paint()

    def action_filter(self) -> None:
        """Type a filter."""
        self.front.screen.query_one(FilterBox).open(self._last_filter)

    def on_filter_box_changed(self, event: FilterBox.Changed) -> None:
        """A filter is being typed, or was."""
        box, wrong = self.front.screen.query_one(FilterBox), self.front.narrow(event.text)
        box.tell(wrong)
        if event.is_final and not wrong:
            self._last_filter = event.text or self._last_filter
            box.shut()
            self.front.focus_view()
        self._paint()

    # --- help, commands, copies --------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """All keys."""
        view, held = self.front.view, self.screen.active_bindings
        taken = {key: one.binding.description for key, one in held.items() if one.node not in {self, self.screen}}
        self.push_screen(Help(help_rows(view.KEYS if view else (), taken, self.look.keys)))

    def action_palette(self) -> None:
        """Type a command."""
        verbs = {name: verb.does for name, verb in VERBS.items()}
        places = {tab.title.lower(): f"tab {tab.key}" for tab in self.front.tabs}
        self.push_screen(Palette(verbs | places | _OWN, self._carry_out))

    def _carry_out(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        tabs = {tab.title.lower(): tab.key for tab in self.front.tabs}
        if word == "quit":
            self.action_detach()
        elif word in tabs and not rest:
            self.call_later(self.action_tab, tabs[word])  # once the palette is shut
        elif word == "filter":
            if wrong := self.front.narrow(rest):
                raise UsageProblem(wrong)
        else:
            self.acts.carry_out(text)

    @property
    def acts(self) -> Acts:
        """What may be done to the run."""
        return self.screen_stack[0].query_one(Acts)

    def action_act(self, name: str) -> None:
        """Do what a key stands for to what is chosen."""
        self.acts.act(name)

    def on_commented(self, event: "Commented") -> None:
        """Something is to be said of a line of the change in front."""
        self.acts.comment(event.path, event.line, event.text)

    def action_review(self) -> None:
        """Send all that was said of lines."""
        self.acts.review()

    def action_open(self, how: Opening) -> None:
        """Open a copy of what is chosen elsewhere."""
        self.acts.open(how)

    def action_undo(self) -> None:
        """Take back the last command, while it is held."""
        self.acts.undo()

    def action_copy(self) -> None:
        """Copy what is chosen."""
        if (view := self.front.view) is not None and view.chosen:
            self.say(copy(self.app, "\n".join(subject.title or subject.id for subject in view.chosen)))

    def say(self, words: str, *, is_problem: bool = False) -> None:
        """Tell whoever watches something, for some seconds."""
        self.notify(words, severity="warning" if is_problem else "information", markup=False)

    def action_stream(self) -> None:
        """Print the lines of what is in front on the terminal's own screen, until the key comes again."""
        view = self.front.view
        lines = view.streamed() if view else None
        if lines is None or view is None or not can_stream(self):
            self.say("there are no lines to print here", is_problem=True)
        elif self._streaming is None:
            self._streaming = Streaming(self, lines)  # at once: the key may be pressed twice
            self.run_worker(self._stream(self._streaming, view.TITLE))

    async def _stream(self, streaming: Streaming, title: str) -> None:
        keys = self.look.keys.get("stream") or next(key.keys for key in GLOBAL if key.id == "stream")
        try:
            count = await streaming.run(title, keys.split(","))
        finally:
            self._streaming = None
        self.say(f"{count:,} line{'s' * (count != 1)} printed")

    def action_replay(self, what: str) -> None:
        """Hold the recording, play it slower or faster, or go to its end."""
        replay = self._source.replay
        match what:
            case _ if replay is None:
                self.say("this is no recording: orchestrate watch --replay RUN plays one", is_problem=True)
            case "hold":
                replay.is_paused = not replay.is_paused
            case "end":
                replay.is_paused = False
                replay.to_end()
            case _:
                replay.speed *= 2 if what == "faster" else 0.5
        self.look_again()

    # --- leaving -----------------------------------------------------------------------------------------------------

    def action_detach(self) -> None:
        """Leave; the run goes on."""
        self.let_go()
        self.exit()

    def let_go(self) -> None:
        """What has to be done before leaving, however that comes about: once."""
        last, self.before_leaving = self.before_leaving, []
        for act in last:
            act()

    def action_interrupt(self) -> None:
        """The first time say how to leave, the second time ask."""
        if self._has_interrupted:
            self.action_leave()
            return
        self._has_interrupted = True
        self.set_timer(_TWICE_S, self._forget_interrupt)
        self.say("q leaves, the run goes on; ctrl+c again asks whether to stop it")

    def _forget_interrupt(self) -> None:
        self._has_interrupted = False

    def action_leave(self) -> None:
        """Ask how."""
        if not isinstance(self.screen, Leaving):
            moment = self.moment
            is_live = moment is not None and moment.connection in {Connection.LIVE, Connection.STALE}
            may_stop = moment is not None and is_live and not moment.is_read_only
            self.push_screen(Leaving(may_stop=may_stop), self._leave)

    def _leave(self, way: Way | None) -> None:
        if way is None:
            return
        if way == "detach" or self.send(Stop(how="drain" if way == "drain" else "interrupt")):
            self.action_detach()

    def send(self, command: Command) -> bool:
        """Send a command at once; false, and told, if that cannot be done."""
        try:
            self.doors.send(command)
        except OrchestrateError as problem:
            self.say(str(problem), is_problem=True)
            return False
        return True

    def call(self) -> None:
        """Call whoever should look at the run, if there is something new."""
        moment = self.moment
        if moment is None or self.acts.is_lent or not (self.look.bell or self.look.notifications):
            return
        at_work = moment.connection in {Connection.LIVE, Connection.STALE, Connection.REPLAY}
        words = self._alerts.look(news(moment.state, moment.seen, moment.now, is_at_work=at_work))
        if words and self.look.bell:
            self.bell()
        if words and self.look.notifications and self._streaming is None and self._driver is not None:
            self._driver.write(osc_9(moment.state.run.run, words))

    def bell(self) -> None:
        """Ring; also while the terminal is not ours."""
        if self._streaming is not None:
            self._streaming.bell()
        else:
            super().bell()

    def _fatal_error(self) -> None:
        """Whoever started the dashboard tells what went wrong; Textual would print all variables with it."""
        self.crashed = self._exception
        self._close_messages_no_wait()
