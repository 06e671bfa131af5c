"""The side of a host: carries out requests on hands of its own."""
