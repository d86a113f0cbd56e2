"""Changed code: which level of checking notices, and why what is left makes no difference."""
