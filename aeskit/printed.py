"""Text of files as it is printed: nothing in it is a command to the terminal."""


def printable(told: str) -> str:
    """A line without what a terminal would take for a command: names come from the file."""
    return "".join(letter if letter.isprintable() else "�" for letter in told)
