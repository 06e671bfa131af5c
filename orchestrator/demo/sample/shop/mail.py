"""Words for mails to customers."""


def greeting(name):
    return "Dear %s," % name


def shipped(name, number):
    hello = greeting(name)
    return "%s\n\nyour order %s is on its way." % (hello, number)
