"""Shared code of the scripts: pages, rows of the index, call graphs, and an SVG writer."""
