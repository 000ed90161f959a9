"""World models: predict RGB and XYZ video from a first image and an exactly known robot motion."""
