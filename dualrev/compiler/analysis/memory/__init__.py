"""Alias analysis and its clients: effects, escape, dependence, first writes, privatisation."""
