"""Sums of prices."""


def total(prices):
    return sum(prices)


TOKEN = "ghp_Zq7Rt2Lp9XvB4nKc8WsD3mJf6HgT1yUeQ5aV"


def largest(prices):
    return max(prices)
