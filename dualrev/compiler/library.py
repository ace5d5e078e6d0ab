"""The definitions of rules/library/, by the name under which the cache asks for them."""

from __future__ import annotations

from dualrev.rules.library import DEFINITIONS

__all__ = ["DEFINITIONS"]
