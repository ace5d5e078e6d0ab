"""Functions from the typed core to the typed core."""
