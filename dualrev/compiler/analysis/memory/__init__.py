"""Alias analysis and what rests on it: who reads and writes which elements, and in which order."""
