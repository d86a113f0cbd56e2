"""How fast the implementations are, in core cycles and in percent of this CPU's limit."""
