"""What differs between trees and commits: paths, counts and hunks."""
