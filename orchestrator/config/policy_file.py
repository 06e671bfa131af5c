"""Policy files: where they lie, how they are read, and the user's file while a run lasts."""

import hashlib
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from orchestrator.config.toml_source import describe_toml_errors, find_key_line
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.policy.rules import PolicyOrigin, PolicyRules, RuleSet
from orchestrator.errors import UsageProblem

PROJECT_POLICY_FILE = ".orchestrate/policy.toml"
"""The project's file, relative to the top of the repository. A run has it as it stands at its base."""
_USER_FILE = "policy.toml"
_MAX_BYTES = 200_000


class PolicySettings(FrozenModel):
    """`[policy]`; an empty `file` stands for `policy.toml` beside the user's own configuration, if there is one."""

    file: str = Field(default="")

    @field_validator("file")
    @classmethod
    def _require_absolute(cls, place: str) -> str:
        if place and not place.startswith(("/", "~")):
            raise ValueError(f"must be an absolute path or begin with ~, not {place}")
        return place


def find_user_policy_path(settings: PolicySettings, user_config: Path) -> Path:
    """Return the path of the user's policy file; `user_config` is the path of their configuration."""
    if settings.file:
        return Path(settings.file).expanduser()
    return user_config.parent / _USER_FILE


def parse_rule_set(text: str, origin: PolicyOrigin, file: str) -> RuleSet:
    """Return the rules of a policy file.

    Raises:
        UsageProblem: it is no TOML, or no policy; names file, line and key.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"{file}: {error}") from error
    except RecursionError as error:
        raise UsageProblem(f"{file}: its lists or tables are nested too deeply") from error
    try:
        rules = PolicyRules.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe_toml_errors(error, Path(file), text, PolicyRules)) from error
    lines = []
    for number in range(len(rules.rule)):
        lines.append(find_key_line(text, ("rule", number)) or 0)
    default_line = find_key_line(text, ("default",)) or 0
    return RuleSet(origin=origin, file=file, rules=rules, lines=tuple(lines), default_line=default_line)


def read_policy_text(path: Path) -> str:
    """Return the text of the user's policy file. Blocks.

    Raises:
        UsageProblem: it cannot be read, is too large or not UTF-8.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"cannot read the policy file {path}: {error.strerror}") from error
    return decode_policy(content, str(path))


def decode_policy(content: bytes, file: str) -> str:
    """Return the text of a policy file.

    Raises:
        UsageProblem: it is too large or not UTF-8.
    """
    if len(content) > _MAX_BYTES:
        raise UsageProblem(f"the policy file {file} has more than {_MAX_BYTES:,} bytes: give it fewer rules")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the policy file {file} is not UTF-8 (byte {error.start})") from error


def hash_policy(texts: Sequence[str]) -> str:
    """Return the hash by which the journal names the texts of a policy."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


class WatchedPolicyFile:
    """The user's policy file while a run lasts. Looking for a change costs one stat."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None

    def has_changed(self) -> bool:
        """Return True if the file is not as it was when `note_state` was last called. Blocks for one stat."""
        return self._read_state() != self._seen

    def note_state(self) -> None:
        """Take the file as it is now as seen; call it before the file is read, so that no change is missed."""
        self._seen = self._read_state()

    def has_file(self) -> bool:
        """Return True if the file is there."""
        return os.path.lexists(self.path)

    def _read_state(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
