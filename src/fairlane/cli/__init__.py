"""The command line: a thin shell around the library.

Exit status 0 done, 1 a check failed or a refusal, 2 bad input (one line on standard error), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fairlane.reference.errors import DataError, FairlaneError, InvalidInstance, PolicyError
from fairlane.reference.extras import unsupported_without

EXIT_DONE, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit status; what `main` does without leaving the process.

    Parameters
    ----------
    arguments : sequence of str
        The words after the program's name.

    Returns
    -------
    int
        The exit status; see the module docstring.
    """
    import typer

    from fairlane.cli.app import build

    # the parent of every usage error; typer publishes its children only
    usage_error: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
    try:
        result = build()(list(arguments), prog_name="fairlane", standalone_mode=False)
        sys.stdout.flush()
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _say("interrupted", EXIT_INTERRUPTED)
    except usage_error as error:
        format_message = getattr(error, "format_message", None)
        return _say(str(format_message()) if callable(format_message) else str(error), EXIT_BAD_INPUT)
    except (InvalidInstance, DataError, PolicyError) as error:
        return _say(str(error), EXIT_BAD_INPUT)
    except FairlaneError as error:
        return _say(str(error), EXIT_FAILED)
    except ModuleNotFoundError as error:
        told = unsupported_without(error)
        if told is None:
            raise
        return _say(str(told), EXIT_FAILED)
    except BrokenPipeError:
        # the reader of a pipe has gone; nothing more can be said, and the flush at exit must not try
        sys.stdout = None
        return EXIT_FAILED
    if result == EXIT_INTERRUPTED:
        # typer turns an interrupt into a silent exit of this status
        return _say("interrupted", EXIT_INTERRUPTED)
    return result if isinstance(result, int) else EXIT_DONE


def _say(message: str, status: int) -> int:
    line = " ".join(message.split())
    print(f"fairlane: {line}", file=sys.stderr)
    return status


def main() -> None:
    """Entry point of the ``fairlane`` command."""
    try:
        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        # before the commands were imported, or a second one while the first was being answered
        status = _say("interrupted", EXIT_INTERRUPTED)
    sys.exit(status)
