# -*- coding: latin-1 -*-
"""Where the shop is."""

STREET = "Hauptstraße 1"
TOWN = "Köln"
