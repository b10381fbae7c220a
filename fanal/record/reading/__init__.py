"""The record as it is read: runs, attempts, series, meaning, differences, SQL, from a folder or an address."""
