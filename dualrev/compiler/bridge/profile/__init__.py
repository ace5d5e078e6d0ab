"""Profiles of compiled derivatives: seconds of each compilation, and what each line puts on the tape."""
