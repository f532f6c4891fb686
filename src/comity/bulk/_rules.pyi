# All of it is C: see the .pxd file.
