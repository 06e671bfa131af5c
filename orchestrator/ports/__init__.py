"""The needs of the engine from the rooms around it, as protocols with our own types; nothing is implemented here."""
