"""Motion: where a body goes. Mechanics, inverse kinematics and actions."""
