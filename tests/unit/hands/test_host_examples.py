"""The examples for service managers and clusters: they parse, call the verb as it is, and leave the sandbox room."""

import configparser
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.hands.hosts.certificates.files import build_host_identity

EXAMPLES = Path(__file__).parents[3] / "examples" / "hosts"
SERVICE, DEPLOYMENT, ARRAY = (
    EXAMPLES / name for name in ("orchestrate-host.service", "deployment.yaml", "array.sbatch")
)
NEEDED = {"--name", "--slots", "--port", "--certs", "--state"}
"""The options that every example gives: a host by a fixed name, behind a firewall, with its own place."""


class _Unit(configparser.RawConfigParser):
    """A unit of systemd, whose keys have capital letters."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


@pytest.fixture(scope="module")
def unit() -> configparser.RawConfigParser:
    parser = _Unit(strict=True)
    parser.read_string(SERVICE.read_text(encoding="utf-8"))
    return parser


@pytest.fixture(scope="module")
def pod() -> dict[str, Any]:
    document = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))
    assert document["spec"]["selector"]["matchLabels"] == document["spec"]["template"]["metadata"]["labels"]
    return dict(document["spec"]["template"]["spec"])


def options_of(words: list[str]) -> set[str]:
    assert words[1:3] == ["hosts", "join"]
    assert re.fullmatch(r"\S+:\d+|\$BRAIN", words[3])
    return {word.partition("=")[0] for word in words[4:] if word.startswith("--")}


def test_the_service_joins_and_is_started_again_after_every_failure(unit: configparser.RawConfigParser) -> None:
    service = unit["Service"]
    assert options_of(shlex.split(service["ExecStart"])) == NEEDED
    assert (service["Restart"], unit["Unit"]["StartLimitIntervalSec"]) == ("on-failure", "0")
    assert Path(shlex.split(service["ExecStart"])[0]).is_absolute()


@pytest.mark.parametrize(
    "setting",
    [
        "RestrictNamespaces",
        "ProtectKernelTunables",
        "ProtectKernelLogs",
        "ProtectProc",
        "ProcSubset",
        "SystemCallFilter",
        "MemoryDenyWriteExecute",
        "PrivateUsers",
    ],
)
def test_the_service_has_no_hardening_with_which_the_sandbox_fails(
    unit: configparser.RawConfigParser, setting: str
) -> None:
    assert setting not in unit["Service"]
    assert setting in SERVICE.read_text(encoding="utf-8"), "and says so"


def test_the_deployment_joins_under_the_name_of_its_pod(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert options_of([*container["command"], *container["args"]]) == NEEDED | {"--listen"}
    assert f"--port={container['ports'][0]['containerPort']}" in container["args"]
    assert {entry["name"] for entry in container["env"]} == {"POD_NAME", "POD_IP"}
    assert build_host_identity("orchestrate-host-7d9c8b6f5d-x2k4q").name


def test_the_deployment_gives_bubblewrap_room_within_a_user_namespace(pod: dict[str, Any]) -> None:
    security = pod["containers"][0]["securityContext"]
    assert (pod["hostUsers"], security["procMount"]) == (False, "Unmasked")
    assert "SYS_ADMIN" in security["capabilities"]["add"]
    assert security["seccompProfile"]["type"] == "Unconfined"
    assert "privileged" not in security


def test_the_keys_of_the_deployment_are_private_and_where_they_are_looked_for(pod: dict[str, Any]) -> None:
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["certs"]["secret"]["defaultMode"] & 0o077 == 0
    container = pod["containers"][0]
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted.keys() == volumes.keys()
    assert {f"--certs={mounted['certs']}", f"--state={mounted['state']}"} <= set(container["args"])


def test_the_array_is_a_script_and_queued_again() -> None:
    subprocess.run(["bash", "-n", str(ARRAY)], check=True)
    text = ARRAY.read_text(encoding="utf-8")
    settings = re.findall(r"^#SBATCH (--[a-z-]+)", text, re.MULTILINE)
    assert {"--array", "--requeue", "--cpus-per-task", "--time", "--signal"} <= set(settings)


def test_each_task_of_the_array_has_a_name_a_port_and_certificates_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "orchestrate"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BRAIN": "brain:8786", "HOME": str(tmp_path), "USER": "u"}
    environment |= {"TMPDIR": str(tmp_path), "SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "8"}
    done = subprocess.run(["bash", str(ARRAY)], env=environment, capture_output=True, text=True, check=True)
    words = done.stdout.split()
    assert words[:3] == ["hosts", "join", "brain:8786"]
    given = dict(zip(words[3::2], words[4::2], strict=True))
    assert given.keys() == NEEDED
    assert (given["--name"], given["--port"], given["--slots"]) == ("slurm-3", "8793", "8")
    assert given["--certs"] == f"{tmp_path}/.config/orchestrate/hosts/hosts/slurm-3"
