"""Bridge between Python and emitted text: dispatchers, the cache on disk, and blocks of the tape."""
