"""What a release costs: events say what happened, accountants say what it costs."""
