"""What a new process settles before it goes on: the landing fence, broken refs and open intents."""
