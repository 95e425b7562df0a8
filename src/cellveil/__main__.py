"""`python -m cellveil` is `cellveil`."""

from cellveil.cli import main

if __name__ == "__main__":
    main()
