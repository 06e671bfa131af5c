"""Differences between trees and commits: paths, counts and hunks."""
