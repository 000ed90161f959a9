"""Policies that are trained here: behaviour cloning, ACT and diffusion, from states or images."""
