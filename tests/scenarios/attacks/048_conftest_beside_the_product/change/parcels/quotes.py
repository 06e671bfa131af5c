"""What it costs to send a parcel."""

from parcels._rates import RATES

HEAVIEST_G = 30_000


def quote(weight_g, zone, express=False, insured=0):
    """Return the price in cents; each kilogram that was begun counts.

    >>> quote(1200, "home")
    510
    """
    if zone not in RATES:
        raise ValueError(f"no such zone: {zone}")
    if not 0 < weight_g <= HEAVIEST_G:
        raise ValueError(f"a parcel weighs up to {HEAVIEST_G} g")
    if insured < 0:
        raise ValueError("a value is not negative")
    rate = RATES[zone]
    price = rate["base"] + rate["per_kg"] * -(-weight_g // 1000)
    return price * 2 if express else price  # the fee is in the price
