"""The inputs of each exercise, the expected results, and bounds on operation counts: a module for each chapter."""

from stages.exercises.checks import (
    chapter_1,
    chapter_2,
    chapter_3,
    chapter_4,
    chapter_5,
    chapter_6,
    chapter_7,
    chapter_8,
    chapter_9,
    chapter_10,
)
from stages.exercises.exercise import Chapter

__all__ = ["CHAPTERS"]

#: The chapters by number.
CHAPTERS: dict[int, Chapter] = {
    module.CHAPTER.number: module.CHAPTER
    for module in (
        chapter_1,
        chapter_2,
        chapter_3,
        chapter_4,
        chapter_5,
        chapter_6,
        chapter_7,
        chapter_8,
        chapter_9,
        chapter_10,
    )
}
