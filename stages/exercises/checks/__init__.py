"""The inputs of each exercise, what is expected, and bounds on operation counts: a module for each chapter."""

from stages.exercises.checks import chapter_1, chapter_2, chapter_3, chapter_4
from stages.exercises.exercise import Chapter

__all__ = ["CHAPTERS"]

_ALL = [chapter_1, chapter_2, chapter_3, chapter_4]
CHAPTERS: dict[int, Chapter] = {chapter.CHAPTER.number: chapter.CHAPTER for chapter in _ALL}
