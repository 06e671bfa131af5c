"""A git library for isolated checkouts and landings. It knows no task and no model."""
