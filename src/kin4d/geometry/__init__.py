"""Value types and algebra: meshes, cameras, clips, pointmaps, transforms, distances."""
