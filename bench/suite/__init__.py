"""The benchmarks of `make bench`: time and memory of the stages, of dualrev, and of other libraries."""
