"""Rungs to forecast: what small runs say about a big one, sealed before it starts and scored after.

`rungs` reads the small runs, `fit` holds the methods, `forecast` makes the document, `seal` writes it
into the big run's record, `score` holds it against what happened, `show` puts it into words and tables.
"""
