"""The brain's certificates for hosts, looked at before anything of a run is made."""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from orchestrator.config.sections.hosts import HostsSettings

if TYPE_CHECKING:
    from orchestrator.hands.hosts.certificates.files import CertificateFiles


async def require_host_certificates(settings: HostsSettings) -> "CertificateFiles | None":
    """Return the brain's certificate files, checked; None where no host may join.

    Raises:
        EnvironmentProblem: the extra is not installed.
        UsageProblem: the certificates cannot be used.
    """
    if not settings.listen:
        return None
    from orchestrator.hands.hosts.extra import require_hosts_extra

    require_hosts_extra()
    from orchestrator.hands.hosts.certificates.checking import load_certificates

    place = Path(await anyio.Path(settings.certs).expanduser())
    return await to_thread.run_sync(load_certificates, place, "brain")
