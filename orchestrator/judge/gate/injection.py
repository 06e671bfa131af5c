"""What is put into the sandbox beside a check, under names that are drawn anew for each run and kept nowhere."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.judging.check import Outcomes, TestOutcome

REPORT_VARIABLE = "ORCHESTRATE_REPORT"
"""The variable that holds where a check is to write its report."""

CANARY_MODULE = "canary"
_PLUGIN = Path(__file__).parent.parent / "canary" / "pytest_plugin.py"
_LOADED = """\
read -r canary && mkdir "${FILE%/*}/$canary" && cat >"${FILE%/*}/$canary/$canary.py"; exec </dev/null
export PYTHONPATH="${FILE%/*}/$canary${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $canary"
unset canary
""".replace("FILE", REPORT_VARIABLE)


@dataclass(frozen=True)
class SandboxInjection:
    """Lines of shell before the command, and what they read; `names` maps what was drawn to how it is recorded.

    The lines are always the same, so that two runs differ in nothing that is kept.
    """

    before: str
    stdin: str
    names: Mapping[str, str]

    def hide_drawn_names(self, text: str) -> str:
        """A text as it is recorded, without anything that was drawn."""
        for drawn, name in self.names.items():
            text = text.replace(drawn, name)
        return text

    def hide_drawn_test_ids(self, outcomes: Outcomes) -> dict[str, TestOutcome]:
        """Outcomes with steady ids."""
        return {self.hide_drawn_names(test): outcome for test, outcome in outcomes.items()}


NO_INJECTION = SandboxInjection("", "", {})


def build_canary_injection(tests: Iterable[str]) -> SandboxInjection:
    """The plugin with these of its tests. Blocks while it is read."""
    plugin, module = f"p{_drawn()}", f"test_{_drawn()}"
    called = {test: f"test_{_drawn()}" for test in tests}
    text = f"{plugin}\n{_PLUGIN.read_text()}\n\nMODULE = {module!r}\nNAMES = {called!r}\n"
    names = {}
    for test, drawn in called.items():
        names[drawn] = test.replace("_", "-")
    return SandboxInjection(_LOADED, text, {plugin: "plugin", module: CANARY_MODULE} | names)


def _drawn() -> str:
    return secrets.token_hex(5)
