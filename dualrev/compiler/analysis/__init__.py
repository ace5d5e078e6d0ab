"""What a transformation has to know of a function: facts about the typed core, which change nothing."""
