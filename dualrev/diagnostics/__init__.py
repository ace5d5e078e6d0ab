"""Where the user's code is, what its functions look like, and how their text is quoted in messages and emitted code."""
