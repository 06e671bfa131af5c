"""`orchestrate hosts certs`."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.arguments import DIRECTORY, json_option
from orchestrator.cli.hosts.host_documents import HostCertificateRow, HostCertificatesDocument
from orchestrator.cli.output import print_document
from orchestrator.hands.hosts.certificates.files import (
    BRAIN,
    PeerIdentity,
    build_host_identity,
    find_authority_directory,
)
from orchestrator.hands.hosts.extra import require_hosts_extra

if TYPE_CHECKING:
    from orchestrator.hands.hosts.certificates.issuing import IssuedCertificate

_MAX_DAYS = 3_650


@click.command("certs")
@click.argument("place", metavar="DIR", type=DIRECTORY)
@click.option("--host", "names", multiple=True, metavar="NAME", help="A host that gets a certificate; may be repeated.")
@click.option(
    "--days", type=click.IntRange(1, _MAX_DAYS), default=365, show_default=True, help="How long new certificates count."
)
@click.option(
    "--renew", "renews", is_flag=True, help="Make new ones for these hosts; without any, for the brain and all hosts."
)
@json_option
def certs_command(place: Path, names: tuple[str, ...], days: int, renews: bool, as_json: bool) -> None:
    """Make certificates for the brain and for hosts, and the private authority that signs them.

    What is there already is kept, so call it again to add hosts. Each host gets a directory of its own. Whoever has one
    of the keys can run code on the brain's machine: copy them by a way that nobody else reads, such as scp.

    \b
    orchestrate hosts certs ~/.config/orchestrate/hosts --host builder-1 --host builder-2
    orchestrate hosts certs ~/.config/orchestrate/hosts --host builder-3
    orchestrate hosts certs ~/.config/orchestrate/hosts --renew
    """
    require_hosts_extra()
    from orchestrator.hands.hosts.certificates.issuing import create_authority  # needs the extra

    hosts = tuple(map(build_host_identity, dict.fromkeys(names)))
    authority_expires_at = create_authority(place)
    rows = []
    for issued in _issue_certificates(place, hosts, days, renews):
        rows.append(_build_row(issued))
    document = HostCertificatesDocument(
        authority=str(find_authority_directory(place)),
        authority_expires_at=authority_expires_at,
        certificates=tuple(rows),
    )
    print_document(document, _format_certificates(document), as_json)


def _issue_certificates(
    place: Path, hosts: Sequence[PeerIdentity], days: int, renews: bool
) -> Iterator["IssuedCertificate"]:
    """Make what is missing, renew what is to be renewed, and yield the certificates of the brain and all hosts."""
    from orchestrator.hands.hosts.certificates.issuing import create_certificate, find_hosts_with_certificates

    earlier = find_hosts_with_certificates(place)
    for peer in dict.fromkeys((BRAIN, *earlier, *hosts)):
        is_meant = peer in hosts or not hosts
        yield create_certificate(place, peer, days, renews=renews and is_meant)


def _build_row(issued: "IssuedCertificate") -> HostCertificateRow:
    return HostCertificateRow(
        role=issued.peer.role,
        name=issued.peer.name,
        directory=str(issued.directory),
        outcome=issued.outcome,
        expires_at=issued.expires_at,
        is_expired=issued.expires_at < datetime.now(UTC),
    )


def _format_certificates(document: HostCertificatesDocument) -> Iterator[str]:
    for row in document.certificates:
        if row.is_expired:
            period = f"expired on {row.expires_at:%Y-%m-%d}, use --renew"
        else:
            period = f"until {row.expires_at:%Y-%m-%d}"
        if row.role == "brain":
            advice = "name it on this machine as certs under [hosts]"
        else:
            advice = f"copy it to host {row.name}, and name it there by --certs"
        yield f"{row.outcome:8}{period:18}{row.directory}: {advice}"
    yield (
        f"{document.authority} stays with you until {document.authority_expires_at:%Y-%m-%d}: its key is needed only "
        "to add hosts and to renew, and whoever has it can join as a host"
    )
