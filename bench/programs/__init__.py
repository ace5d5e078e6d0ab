"""The programs that are timed, and their gradients written by hand and for other libraries."""
