"""What the reverse sweep needs, and whether it is recorded on the tape or computed again."""
