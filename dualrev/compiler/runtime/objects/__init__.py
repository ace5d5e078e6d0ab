"""Records, instances and lists for emitted code: taken apart, and put together again."""
