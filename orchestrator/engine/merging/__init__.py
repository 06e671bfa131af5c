"""Work that clashed in the queue: it goes on from its own changes, by its worker and then by the arbiter."""
