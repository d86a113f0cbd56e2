"""Review: everything that is known about a function, each line with its evidence and its caveat."""
