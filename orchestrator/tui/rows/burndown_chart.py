"""The burndown as a chart in characters: what remained over time, or what had become of the files by then."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Literal

from orchestrator.domain.migration.burndown import counts_sites, get_found_weight
from orchestrator.domain.migration.files import FileStatus, Tick
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.migration.burndown_text import format_weight
from orchestrator.tui.rows import text_plots
from orchestrator.tui.rows.text_plots import Span, get_glyphs

BurndownMeasure = Literal["sites", "files"]
_AXIS = 7
"""Cells for the numbers at the left and the line beside them."""
_LEAST_WIDTH, _LEAST_HEIGHT = 16, 4
_PARTS: Mapping[str, tuple[FileStatus, ...]] = {
    "landed": (FileStatus.MERGED,),
    "failed": (
        *(FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN),
        *(FileStatus.RESTORED, FileStatus.EJECTED),
    ),
    "left out": (FileStatus.SKIPPED, FileStatus.REVERTED),
    "changed": (FileStatus.TRANSFORMED,),
    "to come": (FileStatus.DISCOVERED,),
}
"""The parts of the files, from the bottom up; those with nothing to do are in none."""
_LOOKS: Mapping[str, tuple[str, str, str]] = {
    "landed": ("█", "#", "state-done"),
    "failed": ("▒", "x", "state-fail"),
    "left out": ("╱", "/", "state-stop"),
    "changed": ("▓", "+", "state-merge"),
    "to come": ("░", ".", "state-queue"),
}


@dataclass(frozen=True)
class BurndownSeries:
    """The data of a chart: the ticks, and the end of the time axis in seconds.

    `top` is how much there was in the beginning; `unit` what is counted.
    """

    ticks: Sequence[Tick]
    end: float
    top: float
    unit: str

    @property
    def times(self) -> list[float]:
        """The seconds at which ticks happened."""
        return list(map(attrgetter("at"), self.ticks))


def build_burndown_series(state: RunState) -> BurndownSeries:
    """Return the series of a run as it stands; without a tick there is nothing to draw."""
    has_sites = counts_sites(state.migration.recipe)
    ticks = state.migration.burndown
    end = max(1.0, ticks[-1].at) if ticks else 1.0
    found = sum(get_found_weight(file, has_sites) for file in state.migration.files.values())
    top = max([found, 1.0, *(tick.sites for tick in ticks)])
    return BurndownSeries(ticks, end, top, "sites" if has_sites else "files")


def render_burndown_chart(
    series: BurndownSeries, what: BurndownMeasure, width: int, height: int, *, is_ascii: bool = False
) -> list[list[Span]]:
    """Return rows of spans from top to bottom, none wider than `width` and at most `height` of them.

    The last but one is the time axis with a sign at each mark of a tick, the last one names what is drawn. Nothing is
    drawn where there is too little room or no tick.
    """
    columns, rows = width - _AXIS, height - 2
    if not series.ticks or columns < _LEAST_WIDTH or rows < _LEAST_HEIGHT - 2:
        return []
    if what == "sites":
        body, top = _plot_sites(series, columns, rows, is_ascii), series.top
    else:
        body, top = _plot_files(series, columns, rows, is_ascii), float(sum(_count_parts(series.ticks[-1]).values()))
    line = get_glyphs(is_ascii).vertical
    labels = _build_labels(top, rows)
    chart = []
    for label, row in zip(labels, body, strict=True):
        chart.append([(f"{label:>{_AXIS - 1}}{line}", "dim"), *row])
    return [*chart, _plot_axis(series, columns, is_ascii), _render_legend(series, what, width, is_ascii)]


def _plot_sites(series: BurndownSeries, columns: int, rows: int, is_ascii: bool) -> list[list[Span]]:
    values = list(map(attrgetter("sites"), series.ticks))
    curve = text_plots.sample_step_curve(series.times, values, columns, series.end)
    return [[(row, "state-run")] for row in text_plots.plot_area(curve, rows, series.top, get_glyphs(is_ascii).bars)]


def _plot_files(series: BurndownSeries, columns: int, rows: int, is_ascii: bool) -> list[list[Span]]:
    numbers = list(map(float, range(len(series.ticks))))
    places = text_plots.sample_step_curve(series.times, numbers, columns, series.end)
    looks = {name: (look[is_ascii], look[2]) for name, look in _LOOKS.items()}
    return text_plots.plot_stacked_areas([_count_parts(series.ticks[int(place)]) for place in places], looks, rows)


def _count_parts(tick: Tick) -> Mapping[str, float]:
    counts = Counter(tick.files)
    return {name: float(sum(map(counts.__getitem__, statuses))) for name, statuses in _PARTS.items()}


def _build_labels(top: float, rows: int) -> list[str]:
    """Return labels: the highest value at the top, half of it in the middle, nothing beside the rest."""
    labels = [""] * rows
    labels[0] = _format_label(top)
    if rows >= 6 and top >= 2:
        labels[rows // 2] = _format_label(round(top / 2))
    return labels


def _format_label(value: float) -> str:
    return f"{value / 1_000:,.0f}k" if value >= 100_000 else format_weight(value)


def _plot_axis(series: BurndownSeries, columns: int, is_ascii: bool) -> list[Span]:
    """Return the line below, with a sign where something happened that people should see."""
    glyphs = get_glyphs(is_ascii)
    marked = {round(tick.at / series.end * (columns - 1)) for tick in series.ticks if tick.mark}
    spans = [(f"{'0':>{_AXIS - 1}}{glyphs.corner}", "dim")]
    for is_marked, group in groupby(range(columns), key=marked.__contains__):
        length = len(list(group))
        spans.append((glyphs.tick * length, "title") if is_marked else (glyphs.horizontal * length, "dim"))
    return spans


def _render_legend(series: BurndownSeries, what: BurndownMeasure, width: int, is_ascii: bool) -> list[Span]:
    subject = f"{series.unit} that remain" if what == "sites" else "files"
    spans: list[Span] = [(" " * _AXIS, ""), (f"{subject}, over {format_short_duration(series.end)}  ", "dim")]
    if what == "files":
        for name, count in _count_parts(series.ticks[-1]).items():
            if count:
                spans.append((f"{_LOOKS[name][is_ascii]} {name} {count:.0f}  ", _LOOKS[name][2]))
    return text_plots.cut_spans(spans, width)
