"""`python -m fanal` is `fanal`."""

from fanal.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
