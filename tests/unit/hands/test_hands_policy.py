import pytest
from pydantic import ValidationError

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.limits.rlimits import has_namespaced_process_limit, wrap_in_rlimits
from orchestrator.hands.policy import CommandLimits, Registries, SandboxGrant, SandboxPolicy


def test_the_hash_of_a_policy_does_not_depend_on_the_order_of_variables() -> None:
    assert SandboxPolicy(env={"A": "1", "B": "2"}).sha == SandboxPolicy(env={"B": "2", "A": "1"}).sha


@pytest.mark.parametrize(
    "other",
    [
        SandboxPolicy(tier=Tier.FILES),
        SandboxPolicy(read_only=("/opt/tool",)),
        SandboxPolicy(programs=("/opt/tool/bin/tool",)),
        SandboxPolicy(path=("/opt/tool/bin",)),
        SandboxPolicy(env={"A": "1"}),
        SandboxPolicy(shared={".venv": "/home/ann/repo"}),
        SandboxPolicy(limits=CommandLimits(processes=9)),
        SandboxPolicy(uid=1),
        SandboxPolicy(registries=Registries()),
        SandboxPolicy(backend="podman"),
    ],
)
def test_the_hash_changes_with_every_part_of_a_policy(other: SandboxPolicy) -> None:
    assert other.sha != SandboxPolicy().sha


def test_root_is_no_user_to_drop_to() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        SandboxGrant(uid=0)


def test_the_ladder_has_four_rungs() -> None:
    assert [tier.name for tier in Tier] == ["FILES", "COMMANDS", "REGISTRIES", "EVERYTHING"]
    with pytest.raises(ValidationError):
        SandboxGrant(tier=4)  # type: ignore[arg-type]


def test_limits_become_options_and_never_raise_our_own() -> None:
    words = wrap_in_rlimits(("sh",), CommandLimits(open_files=1 << 60, address_space_bytes=1 << 30), "/usr/bin/prlimit")
    assert words[0] == "/usr/bin/prlimit"
    assert words[-2:] == ("--", "sh")
    options = dict(word.removeprefix("--").split("=") for word in words[1:-2])
    assert options["core"] == "0"
    assert options["as"] == str(1 << 30)
    assert int(options["nofile"]) < 1 << 60


def test_processes_are_counted_per_sandbox_from_linux_5_14_on() -> None:
    releases = ("5.13.19", "5.14.0-427.el9", "6.18.44", "4.18.0", "odd")
    assert [has_namespaced_process_limit(r) for r in releases] == [False, True, True, False, False]
