"""Drop-in replacements for other packages that read a robots.txt: those of `comity_robots.compat`, which fetch too."""
