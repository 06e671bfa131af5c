"""What a migration says of itself: status, report, and their forms."""

import csv
import io
import json
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.migration.files import FileStatus, Shard, Tick
from orchestrator.domain.recipe.model import read_recorded_recipe
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.errors import UsageProblem
from orchestrator.report.log.event_descriptions import describe_event
from orchestrator.report.migration.burndown import FULL_BOUNDS, BurndownBounds, build_burndown, build_group_summaries
from orchestrator.report.migration.burndown_text import (
    ASCII_GLYPHS,
    UNICODE_GLYPHS,
    render_burndown_lines,
    render_group_table,
    render_sparkline,
)
from orchestrator.report.migration.eta import estimate_eta
from orchestrator.report.migration.file_details import (
    FileMoveLog,
    build_file_details,
    build_shard_details,
    find_file_or_shard,
    render_file_details,
    render_shard_details,
)
from orchestrator.report.migration.full_report import build_migration_report
from orchestrator.report.migration.report_csv import render_files_csv, render_series_csv
from orchestrator.report.migration.report_html import render_migration_html
from orchestrator.report.migration.report_markdown import render_migration_markdown
from tests.golden import check_golden
from tests.running.migrated import END, ODD, RECIPE, WHY, begun, recorded, story, told


def test_the_text_is_as_it_was_read() -> None:
    lines = "\n".join(render_burndown_lines(build_burndown(told())))
    check_golden("burndown/status.txt", f"{lines}\n")


def test_the_markdown_is_as_it_was_read() -> None:
    check_golden("burndown/report.md", render_migration_markdown(build_migration_report(told(END))))


def test_the_page_is_as_it_was_read() -> None:
    check_golden("burndown/report.html", render_migration_html(build_migration_report(told(END))))


def test_sites_and_files_are_counted_by_what_became_of_them() -> None:
    now = build_burndown(told()).now
    assert (now.found, now.remaining, now.target) == (57.0, 33.0, 1.0)
    assert now.files == {
        "discovered": 2,
        "ejected": 1,
        "merged": 3,
        "nothing-to-do": 1,
        "rejected": 1,
        "reverted": 1,
    }
    assert sum(now.sites.values()) == now.remaining
    assert now.open == 25.0


def test_groups_hold_every_file_that_has_something_to_do_once() -> None:
    state = told()
    for by in ("owner", "dir", "rung", "reason", "shard"):
        rows = build_group_summaries(state, by)
        assert sum(row.files for row in rows) == 8, by
        assert sum(row.sites_left for row in rows) == 33.0, by
    core = next(row for row in build_group_summaries(state, "owner") if row.name == "@core")
    assert (core.files, core.done, core.rejected, core.prs, core.top_reason) == (4, 2, 1, 1, WHY)
    assert {row.name for row in build_group_summaries(state, "dir")} == {"app", "lib", "odd"}


def test_failures_alike_are_counted_with_paths_and_steps() -> None:
    rows = build_burndown(told()).signatures
    alike = next(row for row in rows if row.signature == WHY)
    assert alike.as_object() == {
        "signature": WHY,
        "files": 1,
        "sites": 10.0,
        "steps": ["codemod"],
        "examples": ["app/test_d.py"],
    }


def test_steps_tell_what_they_brought_through_and_at_which_try() -> None:
    rungs = {row.step: (row.landed, row.first_try, row.later_try) for row in build_burndown(told()).rungs}
    assert rungs == {"codemod": (2, 2, 0), "tail": (1, 0, 1), "hand": (0, 0, 0)}


def test_the_object_is_bounded_for_a_status_and_whole_for_a_report() -> None:
    small = build_burndown(told(), BurndownBounds(points=8, groups=1, signatures=1))
    assert (len(small.series), len(small.owners), len(small.signatures)) == (8, 1, 1)
    assert len(build_burndown(told(), FULL_BOUNDS).owners) == 3


def test_the_ideal_line_ends_with_the_day_of_the_deadline_at_the_target() -> None:
    ideal = build_burndown(told()).ideal
    assert ideal is not None
    assert (ideal[0].as_object(), ideal[1].sites) == ({"at": 0.0, "sites": 57.0}, 1.0)
    assert ideal[1].at == pytest.approx(2 * 86_400 - 30)


def test_the_last_day_that_there_is_can_be_a_deadline() -> None:
    state = told()
    state.migration.recipe = read_recorded_recipe(RECIPE | {"migration": {"id": "m", "deadline": "9999-12-31"}})
    ideal = build_burndown(state).ideal
    assert ideal is not None
    assert ideal[1].at > 1e11


def test_a_run_whose_recipe_counts_no_sites_burns_down_files() -> None:
    state = told()
    state.migration.recipe = read_recorded_recipe(RECIPE | {"scope": {"include": ["*.py"]}})
    shown = build_burndown(state)
    assert (shown.unit, shown.now.found, shown.now.remaining) == ("files", 9.0, 5.0)


@given(st.lists(st.tuples(st.floats(1, 1e4), st.floats(0, 100)), min_size=1, max_size=30), st.floats(1, 1e4))
def test_an_eta_lies_within_its_range(steps: list[tuple[float, float]], left: float) -> None:
    ticks = [Tick(at=0, worked=0, sites=left + sum(landed for _, landed in steps))]
    for seconds, landed in steps:
        last = ticks[-1]
        worked = last.worked + seconds
        ticks.append(Tick(at=worked, worked=worked, sites=max(last.sites - landed, 0.0)))
    judged = estimate_eta(ticks, left)
    if not any(before.sites > after.sites for before, after in pairwise(ticks)):
        assert judged is None
        return
    assert judged is not None
    assert 0 < judged.low_s < judged.seconds < judged.high_s


def test_a_steady_pace_is_told_as_it_is_and_a_later_one_counts_more() -> None:
    steady = [Tick(at=n * 60, worked=n * 60, sites=100 - n) for n in range(61)]
    judged = estimate_eta(steady, 40)
    assert judged is not None
    assert (round(judged.seconds), round(judged.sites_per_hour)) == (2400, 60)
    quick = [*steady, *(Tick(at=3600 + n, worked=3600 + n * 60, sites=40 - n * 3) for n in range(1, 11))]
    faster = estimate_eta(quick, 10)
    assert faster is not None
    assert faster.sites_per_hour > 65


def test_nothing_is_foretold_before_something_landed_or_after_the_end() -> None:
    assert build_burndown(fold_events(recorded(story()[:6]))).eta is None
    assert build_burndown(told(END)).eta is None
    eta = build_burndown(told()).eta
    assert eta is not None
    assert eta.low_s > 0


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (3599, "1h 0m"), (7800, "2h 10m"), (86_399, "1d 0h"), (273_600, "3d 4h")],
)
def test_durations_are_short_words(seconds: float, told: str) -> None:
    assert format_short_duration(seconds) == told


@given(st.lists(st.floats(0, 1e6), max_size=200))
def test_a_curve_of_one_line_is_never_wider_than_asked(values: list[float]) -> None:
    drawn = render_sparkline(values, ASCII_GLYPHS, 10)
    assert len(drawn) <= 10
    assert drawn.isascii()
    if values and max(values) > 0:
        assert (drawn[0] == ASCII_GLYPHS.bars[-1]) == (values[0] >= max(values) * 13 / 14)


def test_without_unicode_all_lines_are_ascii() -> None:
    assert all(line.isascii() for line in render_burndown_lines(build_burndown(told()), ASCII_GLYPHS))


def test_no_line_holds_a_control_character() -> None:
    state = told()
    lines = [
        *render_burndown_lines(build_burndown(state)),
        *render_group_table("reason", build_group_summaries(state, "reason"), UNICODE_GLYPHS),
    ]
    lines += render_file_details(
        build_file_details(state, state.migration.files["odd/-x.py"], FileMoveLog("odd/-x.py"))
    )
    assert any("=cmd" in line for line in lines)
    assert not [line for line in lines if not line.isprintable()]


def test_what_is_printed_can_be_read_back_also_with_keys_of_another_version() -> None:
    state = told(END)
    shard = find_file_or_shard(state, "sample")
    assert isinstance(shard, Shard)
    whole = (
        build_migration_report(state),
        build_burndown(told()),
        build_file_details(state, state.migration.files["lib/test_f.py"], FileMoveLog("lib/test_f.py")),
        build_shard_details(state, shard),
    )
    for model in whole:
        printed = json.loads(json.dumps(model.as_object()))
        assert next(iter(printed)) == "schema"
        assert type(model).model_validate(printed | {"added_later": 1}) == model


def test_a_file_shows_its_sites_tries_and_shard() -> None:
    state, log = told(), FileMoveLog("lib/test_f.py")
    log.record_events(recorded(story()))
    place = build_file_details(state, state.migration.files["lib/test_f.py"], log)
    assert [site.is_done for site in place.sites] == [True] * 5
    assert [(move.step, move.attempt, move.status) for move in place.moves] == [
        ("tail", 2, "transformed"),
        ("tail", 0, "merged"),
    ]
    assert (place.shard, place.commit, place.flags) == ("lib", f"{'lib':0>40}", ("UNCOVERED",))
    assert "    lib/test_f.py:3:1  self-assert  done" in list(render_file_details(place))


def test_where_some_sites_remain_none_is_called_done() -> None:
    state = told()
    place = build_file_details(state, state.migration.files["app/test_b.py"], FileMoveLog(""))
    assert {site.is_done for site in place.sites} == {None}
    assert (place.found, place.remaining) == (10, 1)


def test_a_shard_shows_its_files_and_an_unknown_name_what_is_like_it() -> None:
    state = told()
    shard = find_file_or_shard(state, "sample")
    assert isinstance(shard, Shard)
    lines = list(render_shard_details(build_shard_details(state, shard)))
    assert lines[0].startswith("shard sample  reverted")
    assert "lib/test_e.py: rolled back: it was too early" in lines[2]
    with pytest.raises(UsageProblem, match=r"did you mean app/test_a\.py"):
        find_file_or_shard(state, "app/test_a.p")


class _Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [name for name, _ in attrs if name in {"src", "href", "onerror", "onload", "style"}]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_needs_nothing_and_holds_no_markup_of_the_repository() -> None:
    page = _Page()
    page.feed(render_migration_html(build_migration_report(told(END))))
    assert not page.tags & {"img", "script", "link", "iframe", "object", "form", "a"}
    assert page.loads == []
    assert "<img src=x>" in page.words
    assert "\x1b" not in page.words
    assert "svg" in page.tags


def test_the_markdown_holds_no_markup_and_no_mention() -> None:
    text = render_migration_markdown(build_migration_report(told(END)))
    assert "<img" not in text
    assert "\x1b" not in text
    assert "=cmd\\|' /C" in text, "a bar ends no cell"


def test_the_series_and_the_files_come_as_tables_in_which_nothing_calculates() -> None:
    report = build_migration_report(told(END))
    series = list(csv.DictReader(io.StringIO(render_series_csv(report))))
    assert (series[0]["mark"], series[0]["sites"], series[0]["discovered"]) == ("inventory", "57.0", "9")
    assert series[-1]["mark"] == "ended: partial"
    rows = {row["path"]: row for row in csv.DictReader(io.StringIO(render_files_csv(report)))}
    assert set(rows) == {file.path for file in report.files}
    assert rows["odd/-x.py"]["reason"] == "'" + ODD.replace("\x1b", "")
    for form in (render_series_csv(report), render_files_csv(report)):
        cells = [cell for row in csv.reader(io.StringIO(form)) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_what_comes_next_is_told_by_how_the_run_stands() -> None:
    assert build_burndown(told()).next == ""
    assert build_burndown(told(END)).next == "orchestrate migrate report r1: why 2 files did not land"


def test_the_log_has_words_for_every_event_of_a_migration() -> None:
    lines = [describe_event(record.event) for record in recorded(story())]
    assert not [line for line, record in zip(lines, recorded(story()), strict=True) if line == record.event.kind]
    assert "wave 2 (sweep): app, lib" in lines
    assert "recipe revised by ann to 0badcafe: 1 files are done again" in lines


def test_a_run_that_has_found_nothing_yet_can_be_shown() -> None:
    state = fold_events(recorded(begun()))
    assert next(render_burndown_lines(build_burndown(state))) == "Plain <asserts>  rev 1  sites 0 -> 0 (target 1)"
    assert render_migration_html(build_migration_report(state)).startswith("<!doctype html>")
    assert FileStatus.MERGED.value not in build_burndown(state).now.files
