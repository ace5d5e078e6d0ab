"""Generated data: spectra of spoken letters.

A letter sounds for some frames at its own three frequencies, with noise. A space and the rest of an utterance are
silent. The letters are random, from `a` to `e` and the space.
"""

from __future__ import annotations

import numpy as np

from examples.lantern.errors import DataError, check_finite
from examples.lantern.models.ctc import check_labels

__all__ = ["ALPHABET", "batches", "utterances"]

ALPHABET = "_abcdefghijklmnopqrstuvwxyz '"  # the first is the blank


def utterances(count: int, seed: int, bands: int = 48, frames: int = 80) -> tuple[np.ndarray, list[np.ndarray]]:
    """Generate spectra (count, 1, bands, frames), and for each the indices of its letters in ALPHABET."""
    if frames < 16:
        raise DataError(f"{frames} frames have no room for a letter: take 16 or more.")
    rng = np.random.default_rng([seed, 6])
    peaks = np.random.default_rng(7).uniform(0, bands, (len(ALPHABET), 3))  # a letter sounds the same for every seed
    band = np.arange(bands)[:, None]
    spectra = rng.normal(scale=0.1, size=(count, 1, bands, frames))
    texts = []
    for k in range(count):
        letters, start = [], int(rng.integers(1, 4))
        while start + 12 < frames:
            letter = ALPHABET.index(str(rng.choice(list("abcde "))))
            length = int(rng.integers(8, 13))
            if letter != ALPHABET.index(" "):
                sound = np.exp(-0.5 * ((band - peaks[letter]) / 1.5) ** 2).sum(1)
                spectra[k, 0, :, start : start + length] += sound[:, None]
            letters.append(letter)
            start += length
        texts.append(np.array(letters))
    return spectra.astype(np.float32), texts


def batches(spectra: np.ndarray, texts: list[np.ndarray], size: int) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """Check the data, and split them into batches of `size` utterances; the last one may be smaller."""
    if spectra.ndim != 4 or spectra.shape[1] != 1:
        raise DataError(f"the spectra have the shape {spectra.shape}; it must be (utterances, 1, bands, frames).")
    if len(spectra) != len(texts):
        raise DataError(f"there are {len(spectra)} spectra and {len(texts)} texts: each spectrum has one.")
    for k, (sound, text) in enumerate(zip(spectra, texts, strict=True)):
        check_finite(sound, f"utterance {k}")
        check_labels(text, (spectra.shape[3] + 1) // 2, len(ALPHABET), f"utterance {k}")
    return [(spectra[k : k + size], texts[k : k + size]) for k in range(0, len(spectra), size)]
