"""Looking at results in a browser."""
