"""The tasks themselves: each is a function that builds a scene and the expert's trajectory."""
