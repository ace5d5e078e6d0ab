"""Programs that use dualrev for something larger; run from the clone."""
