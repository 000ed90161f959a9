"""Robot benchmarks: kinematics, pointmaps and scans, against other libraries."""
