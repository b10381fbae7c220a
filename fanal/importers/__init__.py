"""Other people's files become records: `source.import_source` is what `fanal import` calls."""
