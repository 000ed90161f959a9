"""World model: from a first image and an exactly known robot to colour and geometry over time."""
