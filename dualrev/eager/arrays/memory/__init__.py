"""Arrays of dual numbers: values and ids, views, attributes, and what operations record."""
