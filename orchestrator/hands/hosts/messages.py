"""The requests that the brain sends to a host, each with its reply: plain data, whatever carries it.

A request names its reply's type, so that one function asks them all. They travel as JSON: bytes as base64 in it, and
names of files that are not UTF-8 with their odd bytes as lone surrogates, which JSON can spell.
"""

import base64
import json
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

from orchestrator.domain.frozen_model import FrozenModel, fix_field
from orchestrator.domain.ids import CommitId
from orchestrator.hands.policy import SandboxGrant

PROTOCOL = 3
"""Raised with every change of a message. Both sides have the same version of this package as well."""

CHUNK_BYTES = 4 * 1024 * 1024
"""The most bytes of content in one message."""


def _encode_content(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _decode_content(value: object) -> object:
    return base64.b64decode(value) if isinstance(value, str) else value


Content = Annotated[bytes, PlainSerializer(_encode_content, when_used="json"), BeforeValidator(_decode_content)]

UploadName = Annotated[str, Field(pattern=r"^[0-9a-f]{32}\z")]
Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
"""Names of files and directories that a host makes: none leads out of its store."""


class HostReply(FrozenModel):
    """A host's answer."""


R = TypeVar("R", bound=HostReply)


_KINDS: "dict[str, type[HostRequest[Any]]]" = {}
"""The concrete requests by their call; modules add theirs when they are loaded."""


class HostRequest(FrozenModel, Generic[R]):
    """A question to a host. Every concrete class names its `call` and the type of its reply behind its base."""

    call: str = ""
    reply_type: ClassVar[type[HostReply]] = HostReply
    is_wait: ClassVar[bool] = False
    """True if the answer may take some seconds, as something has to happen on the host first."""

    def __init_subclass__(cls, call: str = "", reply: type[HostReply] | None = None, **options: Any) -> None:  # noqa: ANN401  pydantic's own
        super().__init_subclass__(**options)
        if call:
            fix_field(cls, "call", call)
            _KINDS[call] = cls
        if reply is not None:
            cls.reply_type = reply


class DoneReply(HostReply):
    """It is done, and there is nothing to tell."""


class Hello(HostReply):
    """The host's own words on itself: `version` is that of this package."""

    model_config = ConfigDict(extra="ignore")  # a host of any other version has to be understood so far

    name: str
    slots: int
    version: str
    protocol: int


class Greet(HostRequest[Hello], call="greet", reply=Hello):
    """Say who you are. The brain does so again and again, and a host that hears nothing for `patience_s` ends all.

    With 0 the patience stays as it is.
    """

    model_config = ConfigDict(extra="ignore")  # so that a host can say that it has another version

    patience_s: float = Field(default=0.0, ge=0)


class Dismiss(HostRequest[DoneReply], call="dismiss", reply=DoneReply):
    """Leave, and do not come back by yourself: `reason` is for the person who started the host.

    It is no failure of the host where the brain only drained it (`is_refusal` false).
    """

    reason: str
    is_refusal: bool = True


class Mirror(FrozenModel):
    """A repository as hosts copy it, by a `key` that other repositories do not have; see `MirrorContent`."""

    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}\z")]
    hash_name: str
    head: str
    settings: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)


class MirrorState(HostReply):
    """Objects that the host lacks, of those that it was asked about."""

    missing: tuple[str, ...]


class OpenMirror(HostRequest[MirrorState], call="open-mirror", reply=MirrorState):
    """Have a copy of a repository ready, and say which of the `wanted` objects it lacks."""

    mirror: Mirror
    wanted: tuple[str, ...]


class SendContent(HostRequest[DoneReply], call="send-content", reply=DoneReply):
    """Take the next bytes of a file that is sent in parts; the first part has `offset` 0."""

    upload: UploadName
    offset: int = Field(ge=0)
    content: Annotated[Content, Field(max_length=CHUNK_BYTES)]


class StorePack(HostRequest[DoneReply], call="store-pack", reply=DoneReply):
    """Take the objects of a pack that was sent into the copy of a repository, and point its tags at them."""

    upload: UploadName
    mirror: str


class StoreBorrowed(HostRequest[DoneReply], call="store-borrowed", reply=DoneReply):
    """Unpack an archive that was sent: something that workspaces borrow of the checkout, under its fingerprint."""

    upload: UploadName
    fingerprint: Fingerprint


class BorrowedState(HostReply):
    """Fingerprints of what is not there yet."""

    missing: tuple[str, ...]


class FindBorrowed(HostRequest[BorrowedState], call="find-borrowed", reply=BorrowedState):
    """Say which of these things to borrow you lack."""

    fingerprints: tuple[Fingerprint, ...]


class EnvironmentState(HostReply):
    """A sandbox that holds: what a probe in it printed, by which machines are compared."""

    probe: str


class OpenEnvironment(HostRequest[EnvironmentState], call="open-environment", reply=EnvironmentState):
    """Have hands ready in which commands run under a grant, at the place of the user's checkout.

    `borrowed` are the names of things in the checkout, each with the fingerprint under which it was sent.
    """

    key: str
    mirror: str
    place: str
    grant: SandboxGrant
    borrowed: dict[str, Fingerprint] = Field(default_factory=dict)
    probe: str = ""


class OpenedWorkspace(HostReply):
    """A workspace that stands ready, by its name on the host."""

    workspace: str
    name: str
    takes_turns: bool


class OpenWorkspace(HostRequest[OpenedWorkspace], call="open-workspace", reply=OpenedWorkspace):
    """Open a clean workspace at a commit."""

    environment: str
    commit: CommitId
    purpose: str


FailureKind = Literal["tool-refused", "environment", "usage", "locked", "gone", "unknown-call", "too-large"]


class Failure(HostReply):
    """An error of the host's side, by the kind of error that it becomes on the brain's."""

    failed: Literal[True] = True
    kind: FailureKind
    text: str


def list_request_kinds() -> tuple[type[HostRequest[Any]], ...]:
    """Return all requests of the modules that are loaded."""
    return tuple(_KINDS.values())


def encode_message(message: FrozenModel) -> str:
    """Return a message as JSON in ASCII."""
    return json.dumps(message.model_dump(mode="json"))


def decode_request(text: str) -> HostRequest[Any]:
    """Return the request that a text holds.

    Raises:
        ValueError: it holds none.
    """
    fields = json.loads(text)
    kind = _KINDS.get(fields.get("call", "")) if isinstance(fields, dict) else None
    if kind is None:
        raise ValueError("this is no request that a host knows")
    return kind.model_validate(fields)


def decode_reply(text: str, kind: type[R]) -> R | Failure:
    """Return the reply of a kind that a text holds, or the failure that it tells of.

    Raises:
        ValueError: it holds another reply.
    """
    fields = json.loads(text)
    if "failed" in fields:
        return Failure.model_validate(fields)
    return kind.model_validate(fields)
