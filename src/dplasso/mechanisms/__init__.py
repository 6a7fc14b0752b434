"""How a release is drawn: random bits, noise and private selection."""
