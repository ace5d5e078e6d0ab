"""Checks of the exercises of the course docs/learn.

    python -m stages.exercises                  list the exercises
    python -m stages.exercises 3 > chapter_3.py   write the tasks of chapter 3 to a file to begin with
    python -m stages.exercises 3 chapter_3.py     check the answers
    check(3, product)                           check an answer from Python, for example in a notebook

    tasks/       the files to begin with, one for each chapter
    checks/      the inputs of each exercise, the expected results, and bounds on operation counts
    solutions/   a solution of each exercise
    exercise.py  Case, Outcome, Exercise, Chapter
    running.py   runs an answer on its inputs, with a limit on the executed lines
    loading.py   reads a file of answers
    report.py    what a student reads

>>> def forward_difference(f, x, h):
...     return (f(x + h) - f(x)) / h
>>> check(1, forward_difference)
Chapter 1: Differences
  forward_difference  right on 6 inputs; calls of f: 2, bound 2
"""

from stages.exercises.checks import CHAPTERS
from stages.exercises.exercise import Case, Chapter, Exercise, Outcome
from stages.exercises.report import check

__all__ = ["CHAPTERS", "Case", "Chapter", "Exercise", "Outcome", "check"]
