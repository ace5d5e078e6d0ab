"""The paper's figures and tables, made from our own code."""
