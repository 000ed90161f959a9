"""Policies: callables, websocket servers and LeRobot checkpoints, and how to judge them."""
