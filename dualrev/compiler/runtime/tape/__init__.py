"""The tape: its memory, its arena, and how large it gets."""
