"""Configuration: one strict model, layered from defaults to flags, every value with its origin."""
