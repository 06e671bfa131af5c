"""Finding products."""


def search(names, word):
    return sorted(name for name in names if word.lower() in name.lower())


def found(names, word):
    count = len(search(names, word))
    return "%s products for '%s'" % (count, word)
