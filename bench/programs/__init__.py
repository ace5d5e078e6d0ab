"""The programs that are timed, with adjoints written by hand and versions for other libraries."""
