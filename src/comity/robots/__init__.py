"""Floor 1: robots.txt text -> rules -> verdict. Pure: no I/O, no clock."""
