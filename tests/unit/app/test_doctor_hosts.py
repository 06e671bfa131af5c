"""The checks of `[hosts]`: extra, certificates and address, each with its remedy."""

import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.doctor.finding import DoctorFinding
from orchestrator.doctor.host_checks import check_hosts
from orchestrator.hands.hosts.certificates.files import BRAIN
from orchestrator.hands.hosts.certificates.issuing import create_authority, create_certificate

FREE = "127.0.0.1:0"


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("certs")
    create_authority(place)
    create_certificate(place, BRAIN)
    return str(place / "brain")


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def findings(listen: str, certs: str, later: timedelta = timedelta()) -> dict[str, DoctorFinding]:
    return {finding.name: finding for finding in check_hosts(listen, certs, datetime.now(UTC) + later)}


def test_nothing_is_checked_where_no_host_may_join() -> None:
    assert findings("", "/nowhere") == {}


def test_what_is_sound_is_told_with_its_last_day(certs: str) -> None:
    found = findings(FREE, certs)
    assert [finding.is_ok for finding in found.values()] == [True, True]
    assert f"{certs}/brain.pem, until " in found["hosts certs"].detail
    assert found["hosts listen"].detail == FREE


def test_without_the_extra_only_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    (finding,) = findings(FREE, "").values()
    assert not finding.is_ok
    assert "pip install 'orchestrate-goals[hosts]'" in finding.detail


@pytest.mark.parametrize(("certs", "words"), [("", "certs under [hosts] is not set"), ("/nowhere", "is missing")])
def test_certificates_that_are_not_there_are_a_problem(certs: str, words: str) -> None:
    finding = findings(FREE, certs)["hosts certs"]
    assert (finding.is_ok, finding.is_warning) == (False, False)
    assert words in finding.detail


@pytest.mark.parametrize(("days", "is_ok"), [(350, True), (352, False), (366, False)])
def test_certificates_are_renewed_before_they_expire(certs: str, days: int, is_ok: bool) -> None:
    finding = findings(FREE, certs, timedelta(days=days))["hosts certs"]
    assert (finding.is_ok, finding.is_warning) == (is_ok, days == 352)
    assert is_ok or "--renew" in finding.detail


def test_an_address_in_use_may_be_that_of_a_run(certs: str, taken: str) -> None:
    finding = findings(taken, certs)["hosts listen"]
    assert (finding.is_ok, finding.is_warning) == (False, True)
    assert "by another run perhaps" in finding.detail


@pytest.mark.parametrize(
    ("listen", "words"),
    [
        ("192.0.2.1:8786", "cannot be listened at"),
        ("8786", "is no ADDRESS:PORT"),
        ("127.0.0.1:99999", "is no ADDRESS:PORT"),
        ("127.0.0.1:http", "is no ADDRESS:PORT"),
    ],
)
def test_an_address_that_cannot_be_bound_is_a_problem(certs: str, listen: str, words: str) -> None:
    finding = findings(listen, certs)["hosts listen"]
    assert (finding.is_ok, finding.is_warning) == (False, False)
    assert words in finding.detail
