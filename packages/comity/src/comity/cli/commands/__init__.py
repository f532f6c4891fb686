"""One file for each command, found by its name: its options, what it does and what it prints. It holds a function of
its own name, made a command by `command`. What it does is imported where it is needed, for help and completion read
every file."""
