"""Stand-ins for our own ports, for tests that are about something else. They do what they say, in memory."""
