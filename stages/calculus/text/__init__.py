"""Types, terms and programs as text: parser, printer, LaTeX."""
