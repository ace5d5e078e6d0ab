"""CHAD and Efficient CHAD on Python functions; stages/calculus/chad has them as transformations of terms."""
