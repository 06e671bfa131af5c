"""Pull requests on GitHub: REST client, retries, errors, checks and comments."""
