"""Bodies of organic shapes: a skeleton in a skin that bends without tearing."""
