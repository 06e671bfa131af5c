"""Recovery of a new process before it goes on: the landing fence, broken refs and open intents."""
