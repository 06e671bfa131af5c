"""The tables of the burndown: groups, failures alike, and the files behind each; and the log's rows."""

import pytest

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.migration.files import FileStatus
from orchestrator.report.migration.burndown import build_failure_signatures
from orchestrator.report.migration.file_groups import GROUP_KEYS, build_file_groups
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.file_rows import FILE_KEYS, build_file_rows, list_files_by_signature, list_group_files
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.views.burndown import render_burndown_head
from orchestrator.tui.views.log import LOG_KEYS, LogLevel, build_log_row
from tests.running.goal_events import asks, ended, judged, recorded
from tests.running.migrated import END, ODD, WHY, told


def test_the_files_behind_a_group_are_those_that_it_counts() -> None:
    state = told()
    for by in ("owner", "dir"):
        for row in build_file_groups(state, by):
            files = list_group_files(state, by, row.name)
            assert (row.files, row.done) == (len(files), sum(file.status == FileStatus.MERGED for file in files))


def test_the_files_behind_a_failure_are_those_that_it_counts() -> None:
    state = told()
    rows = build_failure_signatures(state)
    assert {row.signature: row.files for row in rows} == {WHY: 1, ODD: 1}
    assert {row.signature: len(list_files_by_signature(state, row.signature)) for row in rows} == {WHY: 1, ODD: 1}


def test_files_that_failed_come_first_with_why_in_one_clean_line() -> None:
    rows = build_file_rows(told(), told().migration.files.values())
    assert [(row.path, row.activity) for row in rows[:2]] == [
        ("odd/-x.py", Activity.FAIL),
        ("app/test_d.py", Activity.RETRY),
    ]
    assert "\x1b" not in rows[0].reason
    late = parse_filter("state:retry step:codemod", FILE_KEYS)
    assert [row.path for row in rows if late.matches_row(row.get_filter_values())] == ["app/test_d.py"]


def test_whole_numbers_and_flags_can_be_filtered_by() -> None:
    groups = build_file_groups(told(), "dir")
    for row in groups:
        wanted = parse_filter(f"files:{row.files} done:{row.done}", GROUP_KEYS)
        assert row.name in [one.name for one in groups if wanted.matches_row(one.get_filter_values())]
    files = build_file_rows(told(), told().migration.files.values())
    flagged = parse_filter("flags:uncovered", FILE_KEYS)
    assert [row.path for row in files if flagged.matches_row(row.get_filter_values())] == ["lib/test_f.py"]


def test_what_models_cost_for_a_file_is_na_where_nobody_knows() -> None:
    known = asks("work:lib/test_g.py@1", "lib/test_g.py", "worker", "0.25")
    unknown = asks("work:app/test_b.py@1", "app/test_b.py", "worker", None)
    state = told(*known, *unknown)
    prices = {row.path: row.price for row in build_file_rows(state, state.migration.files.values()) if row.price}
    assert prices == {"lib/test_g.py": "$0.25", "app/test_b.py": "unknown"}
    groups = {row.name: row.price for row in build_file_groups(state, "dir")}
    assert groups == {"app": "unknown", "lib": "$0.25", "odd": ""}


def test_the_heading_tells_how_far_it_is_and_what_can_be_done() -> None:
    lines = list(render_burndown_head(told(END), is_ascii=True))
    assert "57 -> 33 (target 1)" in lines[0]
    assert lines[1].startswith("files 3/8 landed")
    assert lines[-1].startswith("next: ")
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize(
    ("event", "level"),
    [
        (Noticed(level="warning", text="weak sandbox"), LogLevel.WARNING),
        (Noticed(level="info", text="a clean checkout"), LogLevel.INFO),
        (judged("a", "merge"), LogLevel.INFO),
        (judged("a", "revise"), LogLevel.WARNING),
        (ended("a", "rejected"), LogLevel.WARNING),
        (FileMoved(path="p", status=FileStatus.EJECTED, rung=0), LogLevel.WARNING),
        (FileMoved(path="p", status=FileStatus.MERGED, rung=0), LogLevel.INFO),
        (asks("work:a@1", "a", "worker")[1], LogLevel.DETAIL),
        (END, LogLevel.WARNING),
    ],
    ids=lambda value: str(getattr(value, "kind", value)),
)
def test_what_did_not_go_as_it_was_wanted_is_a_warning_in_the_log(event: object, level: LogLevel) -> None:
    assert build_log_row(recorded([event])[0]).level == level  # type: ignore[list-item]


def test_an_event_is_found_by_level_role_task_and_words() -> None:
    rows = [build_log_row(one) for one in recorded([*asks("review:a/b@1", "a/b", "judge"), judged("c", "revise")])]
    for text, seqs in {
        "role:judge": [1, 2, 3],
        "level:warning": [4],
        "task:a/b level:detail": [2],
        "verdict": [4],
        "seq:>2": [3, 4],
    }.items():
        wanted = parse_filter(text, LOG_KEYS)
        assert [row.seq for row in rows if wanted.matches_row(row.get_filter_values())] == seqs, text


def test_what_somebody_wrote_stays_one_line_without_control_characters() -> None:
    row = build_log_row(recorded([Noticed(level="info", text="one\n\x1b[31mtwo\x07" + "x" * 9_000)])[0])
    assert row.text.startswith("info: one ⏎ [31mtwo")
    assert len(row.text) < 2_100
