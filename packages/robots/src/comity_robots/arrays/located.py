"""What stands for a row's capture where it has none."""

NULL, UNKNOWN, NEEDS_NORMALISING, TOO_EARLY, BAD = -1, -2, -3, -4, -5
