"""The files to begin with: the tasks of each chapter, as functions to write."""
