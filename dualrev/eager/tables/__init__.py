"""Tables with labels that meet numbers under differentiation: of pandas and xarray."""
