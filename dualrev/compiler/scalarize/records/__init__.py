"""Records and instances of jitclasses -> their fields."""
