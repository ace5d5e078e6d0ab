"""What lantern.py writes code with: the code, its texts, its tangents, and how it is run."""
