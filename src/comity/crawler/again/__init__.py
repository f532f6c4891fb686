"""What goes from one run to the next: waits, sites that could not be reached, pages to be asked for again."""
