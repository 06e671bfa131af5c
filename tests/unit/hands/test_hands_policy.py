import pytest
from pydantic import ValidationError

from orchestrator.domain.tier import Tier
from orchestrator.hands.ceilings import counts_processes, limited
from orchestrator.hands.policy import Grant, Limits, Policy, Registries


def test_the_hash_of_a_policy_does_not_depend_on_the_order_of_variables() -> None:
    assert Policy(env={"A": "1", "B": "2"}).sha == Policy(env={"B": "2", "A": "1"}).sha


@pytest.mark.parametrize(
    "other",
    [
        Policy(tier=Tier.FILES),
        Policy(read_only=("/opt/tool",)),
        Policy(programs=("/opt/tool/bin/tool",)),
        Policy(path=("/opt/tool/bin",)),
        Policy(env={"A": "1"}),
        Policy(shared={".venv": "/home/ann/repo"}),
        Policy(limits=Limits(processes=9)),
        Policy(uid=1),
        Policy(registries=Registries()),
        Policy(backend="podman"),
    ],
)
def test_the_hash_changes_with_every_part_of_a_policy(other: Policy) -> None:
    assert other.sha != Policy().sha


def test_root_is_no_user_to_drop_to() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        Grant(uid=0)


def test_the_ladder_has_four_rungs() -> None:
    assert [tier.name for tier in Tier] == ["FILES", "COMMANDS", "REGISTRIES", "EVERYTHING"]
    with pytest.raises(ValidationError):
        Grant(tier=4)  # type: ignore[arg-type]


def test_limits_become_options_and_never_raise_our_own() -> None:
    words = limited(("sh",), Limits(open_files=1 << 60, address_space_bytes=1 << 30), "/usr/bin/prlimit")
    assert words[0] == "/usr/bin/prlimit"
    assert words[-2:] == ("--", "sh")
    options = dict(word.removeprefix("--").split("=") for word in words[1:-2])
    assert options["core"] == "0"
    assert options["as"] == str(1 << 30)
    assert int(options["nofile"]) < 1 << 60


def test_processes_are_counted_per_sandbox_from_linux_5_14_on() -> None:
    releases = ("5.13.19", "5.14.0-427.el9", "6.18.44", "4.18.0", "odd")
    assert [counts_processes(r) for r in releases] == [False, True, True, False, False]
