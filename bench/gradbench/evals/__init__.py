"""GradBench's evals, a module each: the program, its derivative, and `FUNCTIONS`, what the eval may ask for."""
