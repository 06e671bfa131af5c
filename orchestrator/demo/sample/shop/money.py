"""Amounts in cents, and how they are written."""


def format_amount(cents, currency="EUR"):
    """`12.50 EUR` for 1250."""
    sign = "-" if cents < 0 else ""
    return "%s%d.%02d %s" % (sign, abs(cents) // 100, abs(cents) % 100, currency)


def parse_amount(text):
    """1250 for `12.50`."""
    whole, _, part = text.partition(".")
    try:
        return int(whole) * 100 + int(part.ljust(2, "0")[:2] or 0)
    except ValueError:
        raise ValueError("not an amount: %s" % text)
