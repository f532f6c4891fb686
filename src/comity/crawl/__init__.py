"""Floor 5: frontier, scheduler, sinks, resume."""
