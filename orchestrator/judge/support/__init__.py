"""Support: what the gate reads beside product and tests, such as data of tests, helpers and settings. Pure."""
