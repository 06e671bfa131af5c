"""Tool chains that commands get: interpreters, paths shared from the checkout, compiled outputs, fingerprints."""
