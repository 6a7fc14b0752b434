"""How a release is drawn: random bits and the private choices made with them."""
