"""Data: reading what others recorded, and making our own."""
