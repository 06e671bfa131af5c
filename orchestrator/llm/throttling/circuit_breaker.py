"""A circuit breaker: a provider that failed several times in a row is left alone, then tried by one call.

Nothing here reads a clock: `now` is always given, in seconds that never run backwards.
"""

import math

MAX_DOUBLINGS = 4


class CircuitBreaker:
    """Closed at first. It opens after `failures` in a row, and after `pause_s` one call may probe the provider.

    A probe that fails opens it again for twice as long, up to 16 times `pause_s`; any answer closes it.
    """

    def __init__(self, failures: int, pause_s: float) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self.failure_count = 0
        """The number of calls that failed since the last answer."""
        self._opened_at: float | None = None
        self._times_opened = 0
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """True if the provider is left alone, but for a probe."""
        return self._opened_at is not None

    def get_wait_s(self, now: float) -> float:
        """Return seconds until a call may start: 0 for at once, infinity while a probe is under way."""
        if self._opened_at is None:
            return 0.0
        if self._is_probing:
            return math.inf
        doublings = min(self._times_opened - 1, MAX_DOUBLINGS)
        return max(0.0, self._opened_at + self._pause_s * 2.0**doublings - now)

    def start_call(self) -> bool:
        """Note that a call begins that `wait_s` let through; whether it is the probe."""
        self._is_probing = self.is_open
        return self._is_probing

    def record_answer(self) -> None:
        """Record that the provider answered, with a reply or with a refusal: it is there."""
        self.failure_count = self._times_opened = 0
        self._opened_at = None
        self._is_probing = False

    def record_failure(self, now: float, *, is_probe: bool) -> None:
        """Record that the provider did not answer; calls from before the breaker opened do not prolong the pause."""
        self.failure_count += 1
        if (is_probe and self._is_probing) or (not self.is_open and self.failure_count >= self._limit):
            self._opened_at = now
            self._times_opened += 1
            self._is_probing = False

    def record_abandonment(self, *, is_probe: bool) -> None:
        """Record that a call was broken off by its caller and told nothing: somebody else may probe."""
        if is_probe:
            self._is_probing = False
