"""`python -m unisvm`: the command line."""

from unisvm.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
