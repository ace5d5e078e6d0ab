"""Generated data of the four models, and trees of sentences."""
