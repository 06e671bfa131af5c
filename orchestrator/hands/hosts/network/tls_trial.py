"""Tries a connection to the brain before a host joins: the reasons for which it cannot are told apart."""

import ssl
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.streams.tls import TLSAttribute

from orchestrator.errors import UsageProblem
from orchestrator.hands.hosts.certificates.files import CertificateFiles, identify_peer

_PATIENCE_S = 10.0


async def require_brain(host: str, port: int, files: CertificateFiles) -> bool:
    """Return True if a brain is there that trusts this host and is trusted; False if nobody listens there.

    Raises:
        UsageProblem: something else listens there, or one does not trust the other.
    """
    context = ssl.create_default_context(cafile=str(files.authority))
    context.load_cert_chain(str(files.certificate), str(files.key))
    context.check_hostname = False  # a certificate names its owner by role; only those of our authority count
    try:
        with anyio.fail_after(_PATIENCE_S):
            connecting = anyio.connect_tcp(host, port, ssl_context=context, tls_standard_compatible=False)
            async with await connecting as stream:
                await stream.receive(1)  # with TLS 1.3 a refused certificate is told with the first bytes
                _require_brain_certificate(stream.extra(TLSAttribute.peer_certificate), f"{host}:{port}")
    except ssl.SSLError as error:
        raise UsageProblem(
            f"{host}:{port} and this host do not trust each other ({error.reason or error}): both need certificates of "
            "the same `orchestrate hosts certs`"
        ) from error
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError):
        return False
    return True


def _require_brain_certificate(certificate: Mapping[str, Any] | None, place: str) -> None:
    """Refuse whoever holds a certificate of a host only.

    Raises:
        UsageProblem: it is not the brain's.
    """
    names = [str(value) for kind, value in (certificate or {}).get("subjectAltName", ()) if kind == "DNS"]
    peer = identify_peer(names)
    if peer is None or peer.role != "brain":
        raise UsageProblem(
            f"{place} shows a certificate that is no brain's: give the address that listen under [hosts] has"
        )
