"""The cost of releases: events record what was released, accountants compute its cost."""
