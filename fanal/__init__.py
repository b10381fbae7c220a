"""Fanal: train a language model in full view.

`import fanal; fanal.init(project=…); fanal.log({…}, step=…); fanal.finish()` writes a record;
`fanal.open(path).runs[name].series(key)` reads one. Importing this loads nothing heavy.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("fanal")
except PackageNotFoundError:  # run from a tree that is not installed
    __version__ = "0+source"
