"""Invoices as lines of text."""

from shop.money import format_amount


def invoice(number, cart):
    """Header, a line for each item, and the total."""
    lines = ["Invoice %s" % number]
    for name, (price, count) in sorted(cart.items.items()):
        amount = format_amount(price * count)
        lines.append("%s: %s" % (name, amount))
    total = format_amount(cart.total())
    lines.append("Total: %s" % total)
    return lines
