"""World model of rigid parts: segment, predict their motion, composite frames, refine them."""
