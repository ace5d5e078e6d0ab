"""What `make bench` runs by pytest-benchmark: times and memory of the stages, of dualrev, and of other libraries."""
