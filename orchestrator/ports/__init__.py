"""What the engine needs from the rooms around it, as protocols with our own types; no implementation lives here."""
