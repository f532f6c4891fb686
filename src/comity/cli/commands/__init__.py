"""One file for each command, which is found by its name: its options, what it does and what it prints.

A file holds a function of its own name, made a command by `command` or `group`; nothing else has to know of it.
What it does is imported where it is needed, for help and completion read every file.
"""
