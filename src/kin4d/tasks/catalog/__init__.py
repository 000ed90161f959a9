"""The tasks themselves: each is a function that sets up a bench and writes the expert's script."""
