"""Optimisations of core that know nothing of derivatives."""
