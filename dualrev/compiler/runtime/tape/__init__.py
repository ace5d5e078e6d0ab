"""The tape: its memory, its arena, and its size."""
