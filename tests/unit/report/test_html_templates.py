"""Templates of pages: everything that is put on one is escaped, and jinja2 is loaded by the first page only."""

import re
import subprocess
import sys
from pathlib import Path

from orchestrator.report import text
from orchestrator.report.text.html_templates import build_html_table, load_environment, prepare_value
from tests.running.pages import HOSTILE

TEMPLATES = sorted(Path(text.__file__).parent.parent.joinpath("templates").glob("*.html"))


def test_whatever_a_template_prints_is_escaped_and_has_no_control_characters() -> None:
    page = load_environment().from_string("<p title='{{ it }}'>{{ [it, it] | join(', ') }}{{ it ~ it }}</p>")
    made = page.render(it=HOSTILE)
    assert "<script" not in made
    assert made.count("&lt;script&gt;") == 5
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", made)


def test_no_template_lets_a_value_stand_as_it_is() -> None:
    assert len(TEMPLATES) > 5
    for template in TEMPLATES:
        source = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*(safe|forceescape)|autoescape|Markup", source), template.name
        load_environment().get_template(template.name)


def test_of_a_long_value_the_beginning_is_shown() -> None:
    shown = str(prepare_value("x" * 20_003))
    assert shown.endswith("x… and 3 characters more")


def test_a_table_has_no_empty_column_and_none_without_rows() -> None:
    table = build_html_table("T", ("name", "#count", "why"), [("a", 1, ""), ("b" * 20, 2, "")])
    assert [(one.head, one.css_class) for one in table.columns] == [("name", "m"), ("count", "n")]
    assert table.rows == (("a", "1"), ("b" * 20, "2"))
    assert build_html_table("T", ("name",), []).rows == ()


def test_jinja2_is_not_loaded_with_the_modules_that_make_pages() -> None:
    program = (
        "import sys, orchestrator.report.documents.run_html, orchestrator.report.migration.report_html\n"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
