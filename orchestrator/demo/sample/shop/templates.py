"""Text with places: `Hello {name}`."""


def place(name):
    """The mark that stands for a value."""
    return "{%s}" % name


def fill(text, values):
    """The text with every place filled."""
    for name, value in values.items():
        text = text.replace(place(name), str(value))
    return text
