"""What the gate reads on the base that is neither product nor a test: data of tests, their helpers, settings. Pure."""
