"""Matrix products for emitted code, and their adjoints."""
