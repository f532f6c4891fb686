"""The page as it came: the tree of its elements, its size, and what of it nobody sees."""
