"""Motion: where a body goes. Inverse kinematics and actions."""
