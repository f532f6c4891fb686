"""Floor 4: the I/O: address guard, one HTTP stack, the clients that drive the gate."""
