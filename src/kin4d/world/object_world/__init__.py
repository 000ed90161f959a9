"""Rigid worlds: parts that the robot moves, seen, moved, drawn and touched up."""
