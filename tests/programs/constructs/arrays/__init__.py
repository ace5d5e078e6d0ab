"""Constructs of arrays: elements, views, whole arrays, functions of numpy, and stores in place."""
