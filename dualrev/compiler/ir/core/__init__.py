"""Typed core, the second IR: scalars, elements of arrays, loops and branches."""
