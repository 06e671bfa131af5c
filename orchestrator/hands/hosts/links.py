"""The link to one host: carries texts both ways until the host is lost, and then fails at once."""

from typing import Protocol, TypeVar

from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.failures import build_error

R = TypeVar("R", bound=messages.HostReply)


class HostLink(Protocol):
    """A way to one host. No call on it lasts much longer than `MAX_WAIT_S`."""

    @property
    def host(self) -> str:
        """The name that the host has in the run."""

    @property
    def address(self) -> str:
        """The place where it is, for people."""

    async def ask_text(self, text: str, *, is_wait: bool = False) -> str:
        """Send a request, and return the reply; one that `is_wait` may take some seconds, and is in no other's way.

        Raises:
            HostLost: the host is lost, or was while the request was under way.
        """

    async def drop_host(self) -> None:
        """Have no more to do with the host."""


async def ask_host(link: HostLink, request: messages.HostRequest[R]) -> R:
    """Send a request to a host, and return its reply.

    Raises:
        HostLost: the host is lost.
        OrchestrateError, ValueError: what was asked for failed there; the same error as in a workspace of this machine.
    """
    text = await link.ask_text(messages.encode_message(request), is_wait=request.is_wait)
    reply = messages.decode_reply(text, request.reply_type)
    if isinstance(reply, messages.Failure):
        raise build_error(reply, link.host)
    return reply  # type: ignore[return-value]  # of the type that the request names
