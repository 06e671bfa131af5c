"""What tried to leave the sandbox is counted outside, by the kernel, whatever the command says."""

from typing import Any

import pytest

from orchestrator.ports.hands import CommandEnding

pytestmark = pytest.mark.sandbox

TCP = "python3 -c \"import socket; socket.socket().connect_ex(('198.51.100.7', 443))\""
UDP = "python3 -c \"import socket; s = socket.socket(10, 2); s.sendto(b'x', ('2001:db8::1', 53))\""
LOOPBACK = """python3 -c "
import socket
for name in ('127.0.0.1', 'localhost', '::1'):
    with socket.create_server((name, 0), family=socket.AF_INET6 if ':' in name else socket.AF_INET) as server:
        with socket.create_connection(server.getsockname()[:2]) as client:
            client.send(b'x')
print(socket.getaddrinfo('localhost', 80)[0][4][0], socket.gethostbyname(socket.gethostname()))
" """


@pytest.mark.parametrize("line", [TCP, UDP, f"{TCP} & {TCP} & wait", f"({TCP} &) ; sleep 0.3; kill -9 $$"])
async def test_a_packet_that_has_no_way_out_is_counted(shell: Any, line: str) -> None:
    assert (await shell(line)).result.stray_packets == line.count("-c")


async def test_looking_up_a_name_counts(shell: Any) -> None:
    ran = await shell("getent hosts example.com")
    assert (ran.exit_code, ran.result.stray_packets > 0) == (2, True)
    assert ran.result.seconds < 3


async def test_what_stays_on_loopback_does_not_count(shell: Any) -> None:
    ran = await shell(LOOPBACK)
    assert (ran.output, ran.result.stray_packets) == ("127.0.0.1 127.0.0.1\n", 0)


async def test_what_was_tried_counts_also_when_the_command_is_ended(shell: Any) -> None:
    ran = await shell(f"{TCP}; sleep 30", timeout_s=4)
    assert (ran.result.ending, ran.result.stray_packets) == (CommandEnding.TIMED_OUT, 1)
