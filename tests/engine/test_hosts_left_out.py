"""Runs without hosts load nothing of them and listen nowhere; hosts without the extra are a clear word at the start."""

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.layers import load_config
from orchestrator.config.sections.hosts import HostsSettings
from orchestrator.errors import EnvironmentProblem, UsageProblem
from tests.running.goals import Bench, Hears, one

pytestmark = pytest.mark.sandbox

_OWN = "orchestrator.hands.hosts"
_PACKAGES = ("dask", "distributed", "tornado", "cryptography")
LISTENS = {"listen": "127.0.0.1:0", "certs": "/nowhere"}


class Missing(MetaPathFinder):
    """Finds nothing of what hosts need, and keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Refuse the packages of the extra; note our own part."""
        if fullname.startswith((_OWN, *_PACKAGES)):
            self.asked.append(fullname)
        if fullname.startswith(_PACKAGES):
            raise ModuleNotFoundError(fullname)
        return None


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Missing]:
    """A process in which the extra is neither loaded nor installed."""
    for name in [name for name in sys.modules if name.startswith((_OWN, *_PACKAGES))]:
        monkeypatch.delitem(sys.modules, name)
    finder = Missing()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder


def list_listening_sockets() -> set[str]:
    """The inodes of this process's sockets that others can connect to by TCP."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                inodes.add(f"socket:[{words[9]}]")
    own = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            own.add(str(entry.readlink()))
        except OSError:
            continue
    return inodes & own


async def test_a_run_without_hosts_asks_for_nothing_of_them_and_listens_nowhere(bench: Bench, missing: Missing) -> None:
    before, seen = list_listening_sockets(), set[str]()
    ended = await bench.run(*one("a"), when=Hears(lambda _: seen.update(list_listening_sockets())))
    assert ended.exit_code == 0
    assert missing.asked == []
    assert seen <= before


async def test_hosts_without_the_extra_are_refused_before_a_run_is_made(bench: Bench, missing: Missing) -> None:
    with pytest.raises(EnvironmentProblem, match=r"pip install 'orchestrate-goals\[hosts\]'"):
        await bench.run(*one("a"), hosts=LISTENS)
    assert not list((bench.root / "state").glob("**/journal*"))


async def test_certificates_that_are_not_there_are_refused_before_a_run_is_made(bench: Bench) -> None:
    with pytest.raises(EnvironmentProblem, match="/nowhere"):
        await bench.run(*one("a"), hosts=LISTENS)
    assert not list((bench.root / "state").glob("**/journal*"))


@pytest.mark.parametrize("trust", [False, True])
def test_a_project_cannot_let_hosts_join(bench: Bench, trust: bool) -> None:
    (bench.repository / "orchestrate.toml").write_text('[hosts]\nlisten = "0.0.0.0:1"\ncerts = "x"\n')
    with pytest.raises(UsageProblem, match="hosts"):
        load_config(bench.repository, {}, trust_project=trust)


@pytest.mark.parametrize("wrong", [{"listen": "nowhere"}, {"listen": "a:1"}, {"lost_after_s": 1}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageProblem, match="hosts"):
        load_config(None, {"hosts": wrong})


def test_nobody_can_join_by_default() -> None:
    assert load_config(None, {}).config.hosts == HostsSettings()
    assert not HostsSettings().listen
