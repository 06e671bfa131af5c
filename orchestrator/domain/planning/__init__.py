"""Plans in the forms in which people read and change them."""
