"""Amounts of money, kept as whole cents."""


def parse_amount(text):
    """Read an amount such as "1,234.50" as cents.

    >>> parse_amount("1,234.50")
    123450
    """
    sign = -1 if text.startswith("-") else 1
    whole, _, cents = text.lstrip("-").replace(",", "").partition(".")
    return sign * (int(whole) * 100 + int((cents + "00")[:2]))


def format_amount(cents):
    """Write cents as an amount.

    >>> format_amount(-123450)
    '-1,234.50'
    """
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def split_amount(total, parts):
    """Divide `total` cents into shares that differ by one cent at most, the larger ones first.

    >>> split_amount(900, 3)
    [300, 300, 300]
    """
    if parts < 1:
        raise ValueError("an amount is split into at least one part")
    whole = total // parts
    return [whole] * parts
