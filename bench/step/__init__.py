"""CPU that agents' steps take, ours and others', against the same model server."""
