"""Advice on what to install or change when no sandbox starts on this host."""

import platform
from pathlib import Path


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
