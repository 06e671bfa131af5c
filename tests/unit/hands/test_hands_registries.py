"""What tier 2 reaches, as the user's own pip and npm tell it."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from orchestrator.hands.network import package_file_hosts
from orchestrator.hands.network.package_file_hosts import RegistryUnreachable
from orchestrator.hands.network.registries import NPMRC, PIP_CONF, find_registries
from orchestrator.hands.policy import Registries, RegistryGrant
from orchestrator.hands.sandbox.backend import HostPaths
from tests.running.index import Loopback, loopback, npm_package


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as served:
        yield served


@pytest.fixture
def around(tmp_path: Path) -> HostPaths:
    for name in ("repo", "home", "state"):
        (tmp_path / name).mkdir()
    return HostPaths(tmp_path / "repo", tmp_path / "home", tmp_path / "state")


def environ(around: HostPaths, pip: str, npm: str = "") -> Mapping[str, str]:
    """Variables of a user with these configuration files."""
    (around.home / "pip.conf").write_text(pip)
    (around.home / ".npmrc").write_text(npm)
    path = os.environ["PATH"] if npm else "/nowhere"
    return {"PATH": path, "HOME": str(around.home), "PIP_CONFIG_FILE": str(around.home / "pip.conf")}


async def find(around: HostPaths, pip: str, npm: str = "", **wish: tuple[str, ...]) -> Registries:
    return await find_registries(RegistryGrant(**wish), around, environ(around, pip, npm))


async def test_indices_and_where_they_keep_their_files_are_reached(around: HostPaths, server: Loopback) -> None:
    link = '<a class="x" href="https://files.test/pip-1.whl#sha256=0">pip</a> <a href="http://other.test:81/pip.whl">'
    server.pages["/simple/pip/"] = link.encode()
    found = await find(
        around, f"[global]\nindex-url = {server.index}/\n[install]\nextra-index-url = http://localhost:1/s\n"
    )
    assert found.hosts == ("files.test:443", "localhost:1", f"localhost:{server.port}", "other.test:81")
    assert found.plain == ("localhost:1", f"localhost:{server.port}", "other.test:81")
    assert any(note.startswith("localhost:1 could not be asked") for note in found.notes)
    assert f"index-url = {server.index}/\n" in found.settings[PIP_CONF]


def test_an_index_may_answer_in_json(server: Loopback) -> None:
    answer = {"files": [{"url": "https://files.test/a.whl"}, {"url": "/b.whl"}]}
    server.pages["/simple/pip/"] = json.dumps(answer).encode()
    assert package_file_hosts.find_index_file_hosts(server.index) == {
        "files.test:443": False,
        f"localhost:{server.port}": True,
    }


def test_a_registry_that_answers_something_else_is_told_of(server: Loopback) -> None:
    server.pages["/npm/latest"] = b"<html>"
    with pytest.raises(RegistryUnreachable, match="something else"):
        package_file_hosts.find_npm_file_hosts(f"http://{server.place}")
    with pytest.raises(RegistryUnreachable, match="404"):
        package_file_hosts.find_index_file_hosts(server.index)


async def test_credentials_of_addresses_stay_outside_and_it_is_said(around: HostPaths) -> None:
    found = await find(
        around, "[global]\nindex-url = https://ann:s3cret@index.test/simple\n", named=("index.test:443",)
    )
    assert found.hosts == ("index.test:443",)
    assert "s3cret" not in found.model_dump_json()
    assert "index-url = https://index.test/simple\n" in found.settings[PIP_CONF]
    assert any("credentials in the address of index.test:443" in note for note in found.notes)


async def test_named_registries_replace_those_that_were_found(around: HostPaths, server: Loopback) -> None:
    found = await find(around, f"[global]\nindex-url = {server.index}\n", named=("Mirror.test:8080",))
    assert found.hosts == ("mirror.test:8080",)
    assert server.asked == []


async def test_directories_of_packages_are_bound_where_they_may_be(around: HostPaths, tmp_path: Path) -> None:
    for folder in ("wheels", "index/simple", "index/files"):
        (tmp_path / folder).mkdir(parents=True)
    text = f"[global]\nno-index = true\nfind-links = {tmp_path}/wheels {around.home} {tmp_path}/gone\n"
    found = await find(around, text)
    assert (found.hosts, found.folders) == ((), (str(tmp_path / "wheels"),))
    assert len(found.notes) == 2
    assert "home directory" in " ".join(found.notes)
    indexed = await find(around, f"[global]\nindex-url = file://{tmp_path}/index/simple\n")
    assert indexed.folders == (str(tmp_path / "index"),)


async def test_registries_of_scopes_are_reached_and_no_token_is_taken_along(
    around: HostPaths, server: Loopback
) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed (make setup installs it)")
    server.pages["/latest"] = npm_package("npm", "archives.test")
    server.pages["/npm/latest"] = npm_package("npm", "archives.test")
    npm = f"registry=http://{server.place}/\n@acme:registry=http://localhost:1/\n//localhost:1/:_authToken=s3cret\n"
    found = await find(around, "[global]\nno-index = true\n", npm)
    assert set(found.hosts) == {"localhost:1", "archives.test:80", f"localhost:{server.port}"}
    assert "@acme:registry=http://localhost:1/\n" in found.settings[NPMRC]
    assert "s3cret" not in found.model_dump_json()


async def test_a_repository_has_no_say(around: HostPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(around.repository)
    (around.repository / ".npmrc").write_text("registry=https://evil.test/\n")
    (around.repository / "pip.conf").write_text("[global]\nindex-url = https://evil.test/\n")
    for name in ("npm", "pip"):
        (around.repository / name).write_text('#!/bin/sh\necho \'{"registry": "https://evil.test/"}\'\n')
        (around.repository / name).chmod(0o755)
    variables = {**environ(around, "[global]\nno-index = true\n"), "PATH": str(around.repository)}
    assert (await find_registries(RegistryGrant(), around, variables)).hosts == ()


async def test_named_registries_speak_tls_unless_the_user_says_otherwise(around: HostPaths) -> None:
    named = ("a.test:8080", "b.test:80", "c.test:8080", "d.test:443")
    found = await find(around, "[global]\nindex-url = http://a.test:8080/simple\n", named=named, plain=("C.test:8080",))
    assert found.plain == ("a.test:8080", "b.test:80", "c.test:8080")
