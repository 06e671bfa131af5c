"""The checks of `[hosts]`: is the extra there, are the certificates sound, and can hosts be listened for?"""

import errno
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.config.addresses import parse_host_port
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.hosts.extra import require_hosts_extra

_SOON = timedelta(days=14)


def check_hosts(listen: str, certs: str, now: datetime | None = None) -> Iterator[DoctorFinding]:
    """Yield what a brain needs that listens for hosts; nothing where it does not. Blocks.

    Args:
        listen: ADDRESS:PORT, empty where no host may join. It is bound for a moment.
        certs: the directory of the brain's certificate.
        now: the moment at which certificates have to count.
    """
    if not listen:
        return
    try:
        require_hosts_extra()
    except EnvironmentProblem as problem:
        yield DoctorFinding("hosts", False, str(problem))
        return
    yield _check_certificates(certs, now or datetime.now(UTC))
    yield _check_address(listen)


def _check_certificates(certs: str, now: datetime) -> DoctorFinding:
    from orchestrator.hands.hosts.certificates.checking import load_certificates  # needs the extra

    name = "hosts certs"
    if not certs:
        text = "certs under [hosts] is not set: name the directory `brain` that `orchestrate hosts certs DIR` made"
        return DoctorFinding(name, False, text)
    try:
        files = load_certificates(Path(certs).expanduser(), "brain", now)
    except EnvironmentProblem as problem:
        return DoctorFinding(name, False, str(problem))
    text = f"{files.certificate}, until {files.expires_at:%Y-%m-%d}"
    if files.expires_at - now > _SOON:
        return DoctorFinding(name, True, text)
    text += ": no host can join afterwards; `orchestrate hosts certs DIR --renew` makes new ones for brain and hosts"
    return DoctorFinding(name, False, text, is_warning=True)


def _check_address(listen: str) -> DoctorFinding:
    name = "hosts listen"
    try:
        _bind_address(listen)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"{listen} is in use, by another run perhaps: each run that hosts may join needs a port of its own"
            return DoctorFinding(name, False, text, is_warning=True)
        text = f"{listen} cannot be listened at: {error.strerror or error}"
        return DoctorFinding(name, False, f"{text}; give listen under [hosts] an address of this machine")
    except ValueError:
        return DoctorFinding(name, False, f'{listen} is no ADDRESS:PORT: write listen = "10.0.0.5:8786" under [hosts]')
    return DoctorFinding(name, True, listen)


def _bind_address(listen: str) -> None:
    """Bind an address and let it go.

    Raises:
        OSError: it is not an address of this machine, or not free.
        ValueError: there is no number of a port.
    """
    address, port = parse_host_port(listen)
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, place = found[0]
    with socket.socket(family, kind, protocol) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind(place)
