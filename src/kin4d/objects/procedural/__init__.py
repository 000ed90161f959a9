"""Articulated objects made from nothing but a category and a seed."""
