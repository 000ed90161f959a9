"""Renders predicted part motions into frames with classical geometry and lighting."""
