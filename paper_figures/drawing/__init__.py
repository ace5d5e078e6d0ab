"""What the scripts share: pages and rows of the index, graphs of calls, and a writer of SVG."""
