"""Floor 6: the command."""
