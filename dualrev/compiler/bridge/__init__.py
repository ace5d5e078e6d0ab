"""Between Python and emitted text: the dispatchers, what is kept on disk, and how functions reach it from the tape."""
