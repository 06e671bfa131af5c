"""Decide when a provider may be called: rate limits, quotas, circuit breakers, and the queue in front of each provider."""
