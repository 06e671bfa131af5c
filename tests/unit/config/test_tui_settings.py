"""`[tui]` is known without the rest of the configuration where nobody has set anything."""

from pathlib import Path

import pytest

from orchestrator.cli.dashboard.screen import read_tui_settings
from orchestrator.config.layers import load_config
from orchestrator.config.sections.tui import TuiSettings
from orchestrator.errors import UsageProblem


def test_the_defaults_are_those_of_the_shipped_file(tmp_path: Path) -> None:
    assert load_config(None, environ={"HOME": str(tmp_path)}).config.tui == TuiSettings()


def test_what_a_user_sets_in_a_file_or_in_the_environment_counts(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert read_tui_settings(environ) == TuiSettings()
    assert read_tui_settings(environ | {"ORCHESTRATE__TUI__THEME": "light"}).theme == "light"
    (tmp_path / ".config" / "orchestrate").mkdir(parents=True)
    (tmp_path / ".config" / "orchestrate" / "config.toml").write_text("[tui]\nascii = true\n", encoding="utf-8")
    assert read_tui_settings(environ).ascii
    with pytest.raises(UsageProblem, match=r"tui\.theme: Input should be 'dark' or 'light'"):
        read_tui_settings(environ | {"ORCHESTRATE__TUI__THEME": "sepia"})
