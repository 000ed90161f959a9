"""Tasks for robots in simulation: scenes from seeds, experts, faults, and episodes of them."""
