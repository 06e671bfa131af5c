"""The throttling of calls to providers: rate limits, quotas, circuit breakers, and the queue before each provider."""
