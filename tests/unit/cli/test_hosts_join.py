"""`hosts join`: mistakes are told in words before anything is connected."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.config.layers import load_config
from orchestrator.errors import UsageProblem
from tests.running.host_processes import create_certificates


@pytest.mark.parametrize("address", ["nowhere", ":1", "a:", "a:x", "a:99999", "a b:1", "[::1:1"])
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    create_certificates(tmp_path, ["one"])
    done = CliRunner().invoke(cli, ["hosts", "join", address, "--certs", str(tmp_path / "hosts" / "one")])
    assert isinstance(done.exception, UsageProblem)
    assert "is no address with a port" in str(done.exception)


def test_a_name_that_no_host_can_have_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["hosts", "join", "a:1", "--certs", str(tmp_path), "--name", "One"])
    assert isinstance(done.exception, UsageProblem)
    assert "'One' is no name for a host" in str(done.exception)


@pytest.mark.parametrize("listen", ["a:99999", "a", "a b:1"])
def test_a_run_does_not_listen_at_what_is_no_address(listen: str) -> None:
    with pytest.raises(UsageProblem, match="HOST:PORT"):
        load_config(None, {"hosts": {"listen": listen, "certs": "c"}})
