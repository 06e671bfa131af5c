"""Whom a TLS client asks for, read from its first bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.hands.network.client_hello import (
    RECORDS_BEFORE_SECOND_HELLO,
    RECORDS_BEFORE_SERVER_HELLO,
    HelloRefused,
    check_server_name,
    is_hello_retry_request,
    parse_handshake_message,
)
from tests.running.hellos import ECH, hello, openssl_hello, records, server_names

HOST = "packages.test"
RETRY = b"\2\0\0\x26\3\3" + bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c") + bytes(4)


def accepts(stream: bytes, host: str = HOST) -> None:
    message = parse_handshake_message(stream)
    assert message is not None
    check_server_name(message.content, host)


@pytest.mark.parametrize("host", [HOST, "localhost", "xn--pckages-5wa.test"])
def test_what_openssl_sends_is_accepted_for_its_host_and_no_other(host: str) -> None:
    accepts(openssl_hello(host), host)
    with pytest.raises(HelloRefused, match="another server"):
        accepts(openssl_hello(host), "other.test")


def test_case_and_a_dot_at_the_end_make_no_other_host() -> None:
    accepts(records(hello(server_names("Packages.TEST."))))
    with pytest.raises(HelloRefused, match="another server"):
        accepts(records(hello(server_names("Packages.TEST.evil."))))


def test_an_address_may_be_asked_for_without_a_name() -> None:
    accepts(openssl_hello(None), "127.0.0.1")
    accepts(openssl_hello(None), "::1")
    with pytest.raises(HelloRefused, match="another server"):
        accepts(openssl_hello("evil.test"), "127.0.0.1")


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (openssl_hello(None), "names no server"),
        (records(hello()), "names no server"),
        (records(hello(server_names())), "names no server"),
        (records(hello(server_names("packages.test..")))[:], "another server"),
        (records(hello(server_names("packages.test\0.evil.test"))), "another server"),
        (records(hello(server_names("evil.packages.test"))), "another server"),
        (records(hello(server_names(HOST, "evil.test"))), "another server"),
        (records(hello(server_names(HOST), server_names("evil.test"))), "one extension twice"),
        (records(hello(server_names(HOST, kind=1))), "something else than its host name"),
        (records(hello((ECH, b"\0"), server_names(HOST))), "hides"),
        (records(hello(server_names(HOST), (0xFFCE, b""))), "hides"),
        (records(hello((0, server_names(HOST)[1] + b"x"))), "more than its lengths say"),
        (records(hello(server_names(HOST), trailing=b"x")), "more than its lengths say"),
        (records(hello(server_names(HOST)) * 2), "more than one TLS message"),
        (records(b"\2" + hello(server_names(HOST))[1:]), "no ClientHello"),
        (records(b"\1\0\0\2\3\3"), "ends too early"),
        (records(hello(server_names(HOST)), kind=0x17), "no TLS handshake"),
        (records(b"\1", kind=0x14) + records(hello(server_names(HOST))), "no TLS handshake"),
        (records(hello(server_names(HOST)))[:40].replace(b"\x16\3", b"\x16\2"), "no TLS record"),
        (b"\x16\3\1\0\0", "impossible size"),
        (b"\x16\3\1\xff\xff", "impossible size"),
        (b"\x80\x2e\1\3\1", "no TLS handshake"),
        (b"GET / HTTP/1.1\r\n", "no TLS handshake"),
        (b"SSH-2.0-x", "no TLS handshake"),
    ],
)
def test_what_names_nobody_else_or_not_clearly_is_refused(stream: bytes, said: str) -> None:
    with pytest.raises(HelloRefused, match=said):
        accepts(stream)


@given(st.integers(1, 600), st.integers(0, 600))
def test_pieces_of_any_size_say_the_same_and_no_part_says_anything(size: int, cut: int) -> None:
    message = hello(server_names(HOST), (43, bytes(400)))
    whole = records(message, size)
    found = parse_handshake_message(whole + b"later")
    assert found is not None
    assert (found.content, found.end) == (message, len(whole))
    assert parse_handshake_message(whole[: min(cut, len(whole) - 1)]) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_waited_for(noise: bytes) -> None:
    for stream in (noise, b"\x16\3\1" + noise, records(b"\1" + len(noise).to_bytes(3) + noise)):
        try:
            message = parse_handshake_message(stream)
            if message is not None:
                check_server_name(message.content, HOST)
        except HelloRefused:
            continue
        assert message is None or HOST.encode() in message.content.lower()


@given(st.integers(0, 2000), st.integers(0, 255))
def test_a_hello_with_one_other_byte_names_no_other_host(place: int, byte: int) -> None:
    stream = bytearray(openssl_hello(HOST))
    stream[place % len(stream)] = byte
    try:
        message = parse_handshake_message(bytes(stream))
        if message is not None:
            check_server_name(message.content, HOST)
    except HelloRefused:
        return
    assert message is None or HOST.encode() in bytes(message.content).lower()


def test_a_server_s_wish_for_another_hello_is_seen_behind_warnings_and_before_more() -> None:
    warned = records(b"\1\x70", kind=0x15) + records(RETRY + b"\x0b\0\0\0")
    message = parse_handshake_message(warned, RECORDS_BEFORE_SERVER_HELLO)
    assert message is not None
    assert is_hello_retry_request(message.content)
    assert not is_hello_retry_request(RETRY.replace(b"\xcf\x21", b"\xcf\x22"))
    assert not is_hello_retry_request(b"\x0b" + RETRY[1:])


def test_a_second_hello_is_found_behind_early_data() -> None:
    stream = records(b"\1", kind=0x14) + records(b"early", kind=0x17) + records(hello(server_names("evil.test")))
    message = parse_handshake_message(stream, RECORDS_BEFORE_SECOND_HELLO)
    assert message is not None
    with pytest.raises(HelloRefused, match="evil"):
        check_server_name(message.content, HOST)
