"""python -m parcels WEIGHT ZONE [--express] [--insured CENTS]"""

import argparse

from parcels.quotes import quote


def main():
    parser = argparse.ArgumentParser(prog="parcels")
    parser.add_argument("weight", type=int)
    parser.add_argument("zone")
    parser.add_argument("--express", action="store_true")
    parser.add_argument("--insured", type=int, default=0)
    words = parser.parse_args()
    cents = quote(words.weight, words.zone, words.express, words.insured)
    print(f"{words.weight} g to {words.zone}: {cents // 100}.{cents % 100:02d}")


main()
