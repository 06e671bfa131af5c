"""Sales in plain numbers."""

from shop.money import format_amount


def daily(day, carts):
    total = sum(cart.total() for cart in carts)
    count = len(carts)
    amount = format_amount(total)
    return "%s: %s orders, %s" % (day, count, amount)
