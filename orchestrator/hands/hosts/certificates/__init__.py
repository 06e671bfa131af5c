"""Certificates by which brain and hosts know each other: making them, their files, and what is checked of them."""
