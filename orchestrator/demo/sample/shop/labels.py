"""Labels for parcels."""


def address_label(name, street, city):
    return "%s\n%s\n%s" % (name, street, city)


def parcel_label(number, total):
    return "parcel %s of %s" % (number, total)
