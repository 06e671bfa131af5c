"""Not yet formatted."""


def spread(a, b):
    return {"a": a, "b": b}
