"""The plugin of canary tests as it is put into the sandbox, with names that are drawn anew for each run."""

import secrets
from collections.abc import Iterable
from importlib.resources import files

from orchestrator.judge.gate.injection import REPORT_VARIABLE, SandboxInjection

CANARY_MODULE = "canary"
_LOADING_SCRIPT = """\
read -r canary && mkdir "${FILE%/*}/$canary" && cat >"${FILE%/*}/$canary/$canary.py"; exec </dev/null
export PYTHONPATH="${FILE%/*}/$canary${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $canary"
unset canary
""".replace("FILE", REPORT_VARIABLE)


def build_canary_injection(tests: Iterable[str]) -> SandboxInjection:
    """Return the plugin with these of its tests. Blocks while it is read."""
    source = files("orchestrator.judge.canary").joinpath("pytest_plugin.py").read_text()
    plugin, module = f"p{_draw_name()}", f"test_{_draw_name()}"
    drawn_names, recorded_names = {}, {plugin: "plugin", module: CANARY_MODULE}
    for test in tests:
        drawn = f"test_{_draw_name()}"
        drawn_names[test] = drawn
        recorded_names[drawn] = test.replace("_", "-")
    text = f"{plugin}\n{source}\n\nMODULE = {module!r}\nNAMES = {drawn_names!r}\n"
    return SandboxInjection(_LOADING_SCRIPT, text, recorded_names)


def _draw_name() -> str:
    return secrets.token_hex(5)
