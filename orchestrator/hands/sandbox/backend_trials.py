"""Tries the backends that commands could run on here, in order, and says why one does not hold and how to mend it."""

import platform
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from orchestrator.hands.policy import BackendChoice
from orchestrator.hands.sandbox.backend import Backend
from orchestrator.hands.sandbox.bubblewrap import build_bubblewrap_backend
from orchestrator.hands.sandbox.program_search import BackendContext, ProgramMissing, find_sandbox_programs
from orchestrator.hands.selftest.escape_test import run_self_test

if TYPE_CHECKING:
    from orchestrator.hands.containers.engines import ContainerEngine


@dataclass(frozen=True)
class BackendTrial:
    """A backend that was tried: either it passed its self-test, or `trouble` says why not. `name` is for people."""

    name: str
    backend: Backend | None = None
    trouble: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


async def iterate_backend_trials(context: BackendContext, wanted: BackendChoice) -> AsyncIterator[BackendTrial]:
    """Yield each backend after its self-test, a real attempt to break out of it."""
    if wanted in (BackendChoice.AUTO, BackendChoice.BUBBLEWRAP):
        build = to_thread.run_sync(build_bubblewrap_backend, context)
        yield await _try_backend("bubblewrap", build, "The sandbox could not be prepared", context)
    if wanted in (BackendChoice.AUTO, BackendChoice.CONTAINER):
        async for candidate in _try_containers(context):
            yield candidate


async def list_missing_backends(context: BackendContext, wanted: BackendChoice) -> list[BackendTrial]:
    """Return why no backend can even be tried; an empty list as soon as the programs of one are there.

    Nothing is started in a sandbox.
    """
    missing = []
    searches = ((BackendChoice.BUBBLEWRAP, _find_bubblewrap), (BackendChoice.CONTAINER, _find_engines))
    for choice, find in searches:
        if wanted in (BackendChoice.AUTO, choice):
            try:
                await find(context)
            except ProgramMissing as error:
                missing.append(BackendTrial(choice, trouble=str(error)))
            else:
                return []
    return missing


async def _find_bubblewrap(context: BackendContext) -> object:
    return await to_thread.run_sync(find_sandbox_programs, context)


async def _find_engines(context: BackendContext) -> "tuple[ContainerEngine, ...]":
    from orchestrator.hands.containers.engines import find_engines  # where bubblewrap runs, unused

    return await to_thread.run_sync(find_engines, context)


async def _try_containers(context: BackendContext) -> AsyncIterator[BackendTrial]:
    from orchestrator.hands.containers.container_backend import build_container_backend, remove_stale_containers

    try:
        engines = await _find_engines(context)
    except ProgramMissing as error:
        yield BackendTrial("container", trouble=str(error))
        return
    for engine in {engine.kind: engine for engine in engines}.values():
        with suppress(OSError):  # whoever cannot be asked is found out in a moment
            await remove_stale_containers(engine, context.host_paths.state)
    for number, engine in enumerate(engines):
        build = build_container_backend(context, engine, context.session / f"containers-{number}")
        yield await _try_backend(engine.title, build, "No container could be prepared", context)


async def _try_backend(name: str, build: Awaitable[Backend], problem: str, trial: BackendContext) -> BackendTrial:
    """Build a backend and test it; `problem` says in words that its files could not be made."""
    try:
        backend = await build
    except ProgramMissing as error:
        return BackendTrial(name, trouble=str(error))
    except OSError as error:
        return BackendTrial(name, trouble=f"{problem}: {error}.")
    report = await run_self_test(backend, trial.session / "probe")
    if report.trouble:
        return BackendTrial(name, None, report.trouble, report.facts)
    return BackendTrial(name, backend, facts=report.facts)


def render_repair_advice(trouble: str, root: Path = Path("/")) -> str:
    """Return sentences that say how to repair this host; `root` is where its file system starts."""
    hints = list(filter(None, (_advise_install(trouble), _advise_sysctl(root), _advise_container(root))))
    if platform.system() != "Linux":
        hints = ["Commands need Linux; on this system use a Linux virtual machine or container host."]
    return " ".join(hints or ["`orchestrate doctor` repeats this test."])


def _advise_install(trouble: str) -> str:
    if "not installed" in trouble:
        return "On Debian and Ubuntu `apt-get install bubblewrap util-linux` installs what is needed."
    return ""


_SUBIDS = (
    "For podman without root ids must be mapped: `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "
    "USER` as root, then `podman system migrate` as that user."
)
_REMEDIES = (
    ("no subuid ranges", _SUBIDS),
    ("requires additional UIDs", _SUBIDS),
    ("hybrid mode", "crun wants one kind of cgroups; install runc, which is tried after it."),
    ("netavark", "Install netavark: podman does not start without it, though no container of ours has a network."),
    ("default OCI runtime", "Install the runtime that podman is set up for, usually crun."),
    ("seccomp profile", "Install the package that holds it, containers-common."),
    ("docker API", "Start the docker daemon, or let this user reach its socket."),
    ("docker daemon", "Start the docker daemon, or let this user reach its socket."),
)


def get_container_remedy(trouble: str) -> str:
    """Return the known remedy for a trouble with containers, or ""."""
    return next((words for sign, words in _REMEDIES if sign in trouble), "")


def _advise_sysctl(root: Path) -> str:
    if _read_sysctl(root, "kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "This system (Ubuntu 23.10 and later) restricts user namespaces by AppArmor: add an AppArmor profile "
            "for bwrap that allows `userns`, or run `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root."
        )
    if _read_sysctl(root, "kernel/unprivileged_userns_clone") == "0":
        return "User namespaces are switched off: run `sysctl kernel.unprivileged_userns_clone=1` as root."
    if _read_sysctl(root, "user/max_user_namespaces") == "0":
        return "User namespaces are switched off: run `sysctl user.max_user_namespaces=15000` as root."
    return ""


def _advise_container(root: Path) -> str:
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return (
            "This is a container, whose runtime may forbid namespaces: start it with `--security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`, and "
            "`--cap-add SYS_ADMIN` if Orchestrate runs as root in it."
        )
    return ""


def _read_sysctl(root: Path, name: str) -> str:
    try:
        return (root / "proc/sys" / name).read_text(encoding="ascii").strip()
    except OSError:
        return ""
