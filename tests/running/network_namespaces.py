"""Machines in one: network namespaces that a switch joins, of which one can be cut off. Only root can make them.

Nothing touches the network of the machine itself: the switch is a bridge in a namespace of its own.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from secrets import token_hex


@dataclass(frozen=True)
class Machines:
    """Namespaces by name; the first one has the address 10.77.0.1, the next one 10.77.0.2."""

    switch: str
    namespaces: dict[str, str]

    def list_words(self, name: str) -> tuple[str, ...]:
        """The words before a command line that run it on one of the machines."""
        return ("nsenter", f"--net=/run/netns/{self.namespaces[name]}", "--")

    def cut_off(self, name: str) -> None:
        """Let no packet to or from a machine pass from now on. Nobody is told: its own interface stays up."""
        _run("ip", "-n", self.switch, "link", "set", "dev", name, "nomaster")
        _run("ip", "-n", self.switch, "link", "set", "dev", name, "down")

    def let_in(self, name: str) -> None:
        """Connect it again."""
        _run("ip", "-n", self.switch, "link", "set", "dev", name, "up")
        _run("ip", "-n", self.switch, "link", "set", "dev", name, "master", "switch")


@contextmanager
def open_machines(*names: str) -> Iterator[Machines]:
    """Have machines with these names (of at most 15 characters) while the block lasts."""
    mark = token_hex(4)
    with ExitStack() as stack:
        switch = _add_namespace(f"test-{mark}", stack)
        _run("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "switch", "up")
        namespaces = {}
        for number, name in enumerate(names, 1):
            made = namespaces[name] = _add_namespace(f"test-{mark}-{number}", stack)
            _run("ip", "-n", made, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", switch)
            _run("ip", "-n", switch, "link", "set", "dev", name, "master", "switch", "up")
            _run("ip", "-n", made, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for interface in ("lo", "eth0"):
                _run("ip", "-n", made, "link", "set", "dev", interface, "up")
        yield Machines(switch, namespaces)


def _add_namespace(name: str, stack: ExitStack) -> str:
    _run("ip", "netns", "add", name)
    stack.callback(_run, "ip", "netns", "del", name)
    return name


def _run(*words: str) -> Sequence[str]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.splitlines()
