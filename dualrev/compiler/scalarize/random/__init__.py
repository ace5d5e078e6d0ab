"""Random numbers: calls of samplers whose parameters have derivatives."""
