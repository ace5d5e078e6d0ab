"""Entry points of derivatives: the functions that users call, around the sweeps."""
