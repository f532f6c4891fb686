"""Floor 3: the order of things as a state machine. Sans-I/O: time and responses are handed in."""
