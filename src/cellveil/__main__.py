"""The program: `cellveil`, or `python -m cellveil`; stopped while it loads, it ends without a trace."""

import os
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from cellveil.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("cellveil: interrupted; nothing was changed.\n")
        sys.stderr.flush()
        os._exit(130)
    run()


if __name__ == "__main__":
    main()
