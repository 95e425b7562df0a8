"""The programs: `cellveil`, or `python -m cellveil`, and `cellveil-argus`, its command `argus`.

Stopped while it loads, a program ends without a trace.
"""

import os
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from cellveil.cli.app import main as run
    except KeyboardInterrupt:
        over = "\r" if sys.stderr.isatty() else ""  # the ^C of the terminal
        sys.stderr.write(f"{over}cellveil: interrupted; nothing was changed.\n")
        sys.stderr.flush()
        os._exit(130)
    run()


def argus() -> None:
    """Run a batch file of tau-ARGUS: `cellveil argus` under a name of its own."""
    sys.argv.insert(1, "argus")
    main()


if __name__ == "__main__":
    main()
