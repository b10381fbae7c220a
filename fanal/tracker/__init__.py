"""What scripts call: a run of their own, metrics, media, artifacts, and the shapes other trackers gave those calls."""
