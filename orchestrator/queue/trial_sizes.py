"""The sizes of unions that tell the most, from the chance that a unit by itself is red."""

import math

_LEAST_RATE, _MOST_RATE = 1e-4, 0.9
_MOST_UNITS = 512


def choose_chunk_size(failure_rate: float) -> int:
    """Return the number of units whose union is green about as often as it is red."""
    return max(1, min(_MOST_UNITS, round(math.log(2) / -math.log(1 - _bound_rate(failure_rate)))))


def choose_prefix_sizes(failure_rate: float, slots: int, units: int) -> list[int]:
    """Return the sizes of at most `slots` prefixes of which the longest green one is the longest on average.

    They are found from the last one back: behind a green prefix the same question is asked with one slot less. The
    last of them is the window, beyond which a unit adds more risk than it brings.
    """
    pass_rate = 1 - _bound_rate(failure_rate)
    steps, gain = list[int](), 0.0
    for _ in range(slots):
        step = max(1, round(-1 / math.log(pass_rate) - gain))
        gain = pass_rate**step * (step + gain)
        steps.insert(0, step)
    sizes, total = list[int](), 0
    for step in steps:
        total += step
        sizes.append(total)
    if sizes and total > units:
        sizes = [max(1, round(size * units / total)) for size in sizes]
    return sorted(set(sizes))


def choose_split_size(failure_rate: float, units: int) -> int:
    """Return how many of `units`, of which one at least is red, form a union that is green about every other time."""
    pass_rate = 1 - _bound_rate(failure_rate)
    all_green = pass_rate**units
    best, distance = 1, 1.0
    for size in range(1, units):
        green = (pass_rate**size - all_green) / (1 - all_green)
        if abs(green - 0.5) >= distance:
            break
        best, distance = size, abs(green - 0.5)
    return best


def _bound_rate(failure_rate: float) -> float:
    return min(max(failure_rate, _LEAST_RATE), _MOST_RATE)
