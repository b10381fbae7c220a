"""What is closed: log to segments, their Parquet files, tiles and windows, and the process that closes."""
