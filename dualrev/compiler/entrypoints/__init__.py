"""The functions that are called for derivatives: what stands around the sweeps."""
