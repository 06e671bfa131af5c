"""`[[mcp]]`: servers of the Model Context Protocol whose tools roles may use, and what each of them may reach."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from orchestrator.config.engines import EnginesConfig, Host, HostPath, VariableName
from orchestrator.config.quantities import Positive, Seconds
from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.sandbox.tier import Tier

ServerApproval = Literal["never", "first", "always"]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ROLES_WITHOUT_WORKSPACE: frozenset[Role] = frozenset({"judge"})
_SANDBOX_KEYS = ("tier", "hosts", "private_hosts", "plain_hosts", "env", "vars", "read_only", "traffic_mb")


def _check_url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.username is not None or parts.fragment):
        raise ValueError(f"{parts.hostname!r}: a url holds no name, password or fragment: name a variable in token_env")
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if text and not parts.hostname:
        raise ValueError(f"{text!r} is no url of a server")
    if text and parts.scheme != "https" and not is_local:
        raise ValueError(f"{text!r} is spoken to without TLS: give a url with https, or one of this machine")
    return text


class McpServerSettings(FrozenModel):
    """`[[mcp]]`: one server, who may use it, and all that it may reach.

    One with a `command` runs in the sandbox of whoever uses it, one with a `url` is called by the engine.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,29}$")]
    command: tuple[str, ...] = ()
    url: Annotated[str, AfterValidator(_check_url)] = ""
    roles: Annotated[tuple[Role, ...], Field(min_length=1)] = ("worker",)
    tools: tuple[str, ...] = ("*",)
    approval: ServerApproval = "never"
    output_kb: Annotated[int, Field(ge=1, le=1024)] = 64
    timeout_s: Seconds = 60.0
    token_env: VariableName | Literal[""] = ""
    tier: Annotated[Tier, Field(ge=Tier.COMMANDS)] = Tier.COMMANDS
    hosts: tuple[Host, ...] = ()
    private_hosts: tuple[Host, ...] = ()
    plain_hosts: tuple[Host, ...] = ()
    env: tuple[VariableName, ...] = ()
    vars: dict[VariableName, str] = Field(default_factory=dict)
    read_only: tuple[HostPath, ...] = ()
    traffic_mb: Positive = 256

    @property
    def output_chars(self) -> int:
        """The characters that an answer may have; the rest of a longer one is left out."""
        return self.output_kb * 1024

    @property
    def origin(self) -> str:
        """The place that its tools come from, as one text: another command or url is another server."""
        return self.url or "\0".join(self.command)

    @model_validator(mode="after")
    def _require_one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError(f"the server {self.name} needs a command or a url, and not both")
        if self.command and self.token_env:
            raise ValueError(f"token_env is for servers with a url: name what {self.name} gets in env")
        if self.url and (unused := list(filter(self._is_changed, _SANDBOX_KEYS))):
            raise ValueError(f"{', '.join(unused)} of {self.name} are for servers with a command, which run here")
        if self.hosts and self.tier == Tier.COMMANDS:
            raise ValueError(f"the server {self.name} reaches its hosts at tier 2: set tier = 2")
        if self.command and (without := sorted(_ROLES_WITHOUT_WORKSPACE & set(self.roles))):
            raise ValueError(
                f"a {without[0]} has no workspace that the command of {self.name} could run in: give it a url"
            )
        return self

    def _is_changed(self, key: str) -> bool:
        """Return True if a key has not its default value; settings that a run keeps have all keys."""
        usual: object = type(self).model_fields[key].get_default(call_default_factory=True)
        return bool(getattr(self, key) != usual)


class McpConfig(EnginesConfig):
    """The part of the configuration that knows servers of tools."""

    mcp: tuple[McpServerSettings, ...] = ()

    @model_validator(mode="after")
    def _require_different_names(self) -> Self:
        names = [server.name for server in self.mcp]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two tables [[mcp]] have the name {', '.join(twice)}")
        return self
