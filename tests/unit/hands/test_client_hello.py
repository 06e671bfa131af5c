"""The server name of a TLS connection, read from hellos that a real TLS library made."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.hands.client_hello import MalformedHelloError, ServerNameError, admits_opening, parse_client_hello
from tests.running.hellos import client_hello, split_into_records

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda label: "--" not in label)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(lambda labels: ".".join((*labels, "test")))


@given(NAMES, st.integers(1, 300))
def test_the_name_is_read_however_the_hello_is_cut_into_records(name: str, size: int) -> None:
    hello = parse_client_hello(split_into_records(client_hello(name), size))
    assert hello is not None
    assert (hello.server_name, hello.has_encrypted_hello) == (name, False)


def test_every_beginning_of_a_hello_waits_for_the_rest() -> None:
    whole = client_hello("packages.test")
    for end in range(len(whole)):
        assert not admits_opening(whole[:end], "packages.test", 443)
    assert admits_opening(whole, "packages.test", 443)
    assert admits_opening(whole + b"more", "packages.test", 443)


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: client_hello("packages.test")[:60] + tail))
def test_no_bytes_lead_to_anything_but_an_answer_or_a_named_error(received: bytes) -> None:
    try:
        parse_client_hello(received)
    except MalformedHelloError as error:
        assert str(error)


def test_an_address_needs_no_name_and_a_name_does() -> None:
    nameless = client_hello(None)
    assert admits_opening(nameless, "192.0.2.1", 443)
    with pytest.raises(ServerNameError, match="names no server"):
        admits_opening(nameless, "packages.test", 443)


def test_a_hidden_second_name_is_refused() -> None:
    hello = bytearray(client_hello("packages.test"))
    hello += (extension := b"\xfe\x0d\x00\x01\x00")
    for place, size in ((3, 2), (6, 3), (_extensions_at(bytes(hello)), 2)):
        longer = int.from_bytes(hello[place : place + size]) + len(extension)
        hello[place : place + size] = longer.to_bytes(size)
    with pytest.raises(ServerNameError, match="hides"):
        admits_opening(bytes(hello), "packages.test", 443)


def test_a_hello_without_end_is_refused() -> None:
    endless = split_into_records(b"\x16\x03\x01\x00\x00" + b"\x01\xff\xff\xff" + bytes(70_000), 16_000)
    with pytest.raises(ServerNameError, match="too long"):
        admits_opening(endless, "packages.test", 443)


def test_the_library_that_makes_the_hellos_has_tls_1_3() -> None:
    assert ssl.HAS_TLSv1_3


def _extensions_at(hello: bytes) -> int:
    """Return where the length of the extensions stands."""
    place = 5 + 4 + 2 + 32
    place += 1 + hello[place]
    place += 2 + int.from_bytes(hello[place : place + 2])
    return place + 1 + hello[place]
