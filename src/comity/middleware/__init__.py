"""Floor 5: the public face inside other people's programs."""
