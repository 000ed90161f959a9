"""Compiled kinematic maps: what mechanics needs of a body, in plain arrays instead of tensors."""
