"""Facts about functions, for both engines: derivatives, parameters, memory. Nothing here imports an engine."""
