"""Extensions."""

KNOWN = ("till.prices", "till.cart")
