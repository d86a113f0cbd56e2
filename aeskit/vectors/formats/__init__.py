"""A module a format; a new one joins by having `FORMATS`."""
