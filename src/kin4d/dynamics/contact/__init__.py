"""Contact: which points touch what, and the impulses that keep them apart."""
