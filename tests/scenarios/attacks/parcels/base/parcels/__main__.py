"""python -m parcels WEIGHT ZONE [--express]"""

import argparse

from parcels.quotes import quote


def main():
    parser = argparse.ArgumentParser(prog="parcels")
    parser.add_argument("weight", type=int)
    parser.add_argument("zone")
    parser.add_argument("--express", action="store_true")
    words = parser.parse_args()
    cents = quote(words.weight, words.zone, words.express)
    print(f"{words.weight} g to {words.zone}: {cents // 100}.{cents % 100:02d}")


main()
