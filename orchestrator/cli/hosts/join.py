"""`orchestrate hosts join`."""

import re
import socket
from pathlib import Path

import anyio
import click

from orchestrator import __version__
from orchestrator.cli.arguments import DIRECTORY
from orchestrator.config.addresses import parse_host_port
from orchestrator.domain.hosts.record import HOST_NAME_PATTERN
from orchestrator.errors import UsageProblem
from orchestrator.hands.execution.command_slots import count_command_slots
from orchestrator.hands.hosts.extra import require_hosts_extra
from orchestrator.journal.locations.run_directory import find_hosts_directory


@click.command("join")
@click.argument("address", metavar="ADDRESS:PORT")
@click.option("--certs", required=True, type=DIRECTORY, help="This host's certificates, as `hosts certs` made them.")
@click.option("--slots", type=click.IntRange(1, 4096), help="Commands that run here at once; one for each core.")
@click.option("--name", default="", help="This host's name in runs; by default that of the machine.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port here that the run reaches; 0: any.")
@click.option("--listen", "own_address", default=None, help="The address of this host that the run reaches.")
@click.option("--state", type=DIRECTORY, default=None, help="The directory for copies of repositories and worktrees.")
def join_command(
    address: str, certs: Path, slots: int | None, name: str, port: int, own_address: str | None, state: Path | None
) -> None:
    """Let runs use this machine: their tests and their workers' commands run here, in the sandbox.

    It waits for a run at the address, serves it to its end, and waits for the next one; Ctrl-C ends it. Everything that
    runs here for a run ends with it.

    \b
    orchestrate hosts join brain.example:8786 --certs ~/hosts/build1 --slots 8
    """
    try:
        brain_host, brain_port = parse_host_port(address)
    except ValueError as error:
        raise UsageProblem(f"{address!r} is no address with a port, such as brain.example:8786") from error
    name = name or _find_machine_name()
    if not re.fullmatch(HOST_NAME_PATTERN, name):
        raise UsageProblem(f"{name!r} is no name for a host: small letters, digits and dashes; give one with --name")
    require_hosts_extra()
    from orchestrator.hands.hosts.agent.hidden_places import require_hidden_place
    from orchestrator.hands.hosts.agent.host_agent import HostIdentity
    from orchestrator.hands.hosts.agent.host_store import HostStore
    from orchestrator.hands.hosts.certificates.checking import load_certificates
    from orchestrator.hands.hosts.network.dask_host import JoinOptions, serve_brains

    options = JoinOptions(brain_host, brain_port, load_certificates(certs, "host"), port, own_address)
    identity = HostIdentity(name, slots or count_command_slots(None), __version__)
    store = HostStore((state or find_hosts_directory() / name).absolute())
    require_hidden_place(options.certificates.key, "--certs")
    require_hidden_place(store.root, "--state")
    anyio.run(serve_brains, options, identity, store, _say)


def _find_machine_name() -> str:
    return re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().lower()).strip("-")[:40]


def _say(text: str) -> None:
    click.echo(text, err=True)
