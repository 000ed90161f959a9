"""The command line: one file a command, joined here.

A command is a function `NAME_command` whose signature is its interface (read by tyro) and whose
docstring is its help. Commands raise `Kin4dError`; this module alone turns errors into messages
and exit codes.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence

from kin4d.cli.ranges import with_checked_ranges
from kin4d.errors import Kin4dError
from kin4d.renamed import renamed_arguments

COMMANDS = (
    "inspect",
    "animate",
    "articulate",
    "fit",
    "simulate",
    "robot",
    "calibrate",
    "imagine",
    "data",
    "train",
    "serve-policy",
    "serve-env",
    "evaluate-policy",
    "export",
    "view",
    "bench",
    "report",
    "info",
    "demo",
)

_DISK_ERRORS = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "ENAMETOOLONG", "EIO")
    if hasattr(errno, name)  # quotas are not known everywhere
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``kin4d``; returns the exit code: 0 done, 1 a bug, 2 something the user can fix."""
    import tyro

    warnings.showwarning = _show_warning
    if argv is None:
        # Ended from outside (timeout, a job scheduler), clean up as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments == ["--version"]:
        arguments = ["info"]
    # Only the command that is called is imported; help for all of them imports all.
    wanted = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    commands = {name: _command(name) for name in wanted}
    try:
        tyro.extras.subcommand_cli_from_dict(
            commands,
            prog="kin4d",
            description="Makes still things move: 4D geometry that obeys kinematics. "
            "Add --debug to any command to see a traceback.",
            args=arguments,
        )
    except Kin4dError as error:
        if debug:
            raise
        print(f"kin4d: {error}", file=sys.stderr)
        _print_renamed(arguments)
        return 2
    except SystemExit as stop:  # the parser's: 0 after help, 2 for wrong arguments
        if stop.code:
            _print_renamed(arguments)
        raise
    except KeyboardInterrupt:
        print("kin4d: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        if debug:
            raise
        print(
            f"kin4d: this needs more memory than there is: {error}. "
            "Next: ask for fewer frames, fewer pixels or a smaller mesh.",
            file=sys.stderr,
        )
        return 2
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            where = f" {error.filename}" if error.filename else ""
            print(
                f"kin4d: cannot read or write{where}: {error.strerror}. "
                "Next: free some space, or choose a folder you may write to.",
                file=sys.stderr,
            )
            return 2
        print(
            f"kin4d: unexpected {type(error).__name__}: {error}. This is a bug in kin4d: "
            "run the same command with --debug and report what it prints.",
            file=sys.stderr,
        )
        return 1
    return 0


def _print_renamed(arguments: Sequence[str]) -> None:
    for line in renamed_arguments(arguments):
        print(f"kin4d: {line}", file=sys.stderr)


def _command(name: str):
    name = name.replace("-", "_")
    module = importlib.import_module(f"kin4d.cli.{name}")
    return with_checked_ranges(vars(module)[f"{name}_command"])


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    if category.__module__.startswith("kin4d"):
        print(f"kin4d: warning: {message}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), file=sys.stderr)
