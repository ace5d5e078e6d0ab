"""Lists and dicts -> arrays, numbers and tuples."""
