"""What is put into the sandbox beside a check, under names that are drawn anew for each run and kept nowhere."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.check import Outcomes, TestOutcome

REPORT = "ORCHESTRATE_REPORT"
"""The variable that holds where a check is to write its report."""

MODULE = "canary"
_PLUGIN = Path(__file__).with_name("canary_plugin.py")
_LOADED = """\
read -r canary && mkdir "${FILE%/*}/$canary" && cat >"${FILE%/*}/$canary/$canary.py"; exec </dev/null
export PYTHONPATH="${FILE%/*}/$canary${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $canary"
unset canary
""".replace("FILE", REPORT)


@dataclass(frozen=True)
class Planted:
    """Lines of shell before the command, and what they read; `names` maps what was drawn to how it is recorded.

    The lines are always the same, so that two runs differ in nothing that is kept.
    """

    before: str
    stdin: str
    names: Mapping[str, str]

    def steady(self, text: str) -> str:
        """A text as it is recorded, without anything that was drawn."""
        for drawn, name in self.names.items():
            text = text.replace(drawn, name)
        return text

    def steadied(self, outcomes: Outcomes) -> dict[str, TestOutcome]:
        """Outcomes with steady ids."""
        return {self.steady(test): outcome for test, outcome in outcomes.items()}


NOTHING = Planted("", "", {})


def plant_canaries(tests: Iterable[str]) -> Planted:
    """The plugin with these of its tests. Blocks while it is read."""
    plugin, module = f"p{_drawn()}", f"test_{_drawn()}"
    called = {test: f"test_{_drawn()}" for test in tests}
    text = f"{plugin}\n{_PLUGIN.read_text()}\n\nMODULE = {module!r}\nNAMES = {called!r}\n"
    names = {drawn: test.replace("_", "-") for test, drawn in called.items()}
    return Planted(_LOADED, text, {plugin: "plugin", module: MODULE} | names)


def _drawn() -> str:
    return secrets.token_hex(5)
