"""Every error kin4d raises on purpose: what is wrong, the value, what is allowed, what to do."""

from __future__ import annotations


class Kin4dError(Exception):
    """Base of all expected errors. The command line prints it without a traceback, exit code 2.

    Args:
        what: What is wrong, naming the file or argument.
        value: The offending value, if one can be shown.
        allowed: What would have been accepted.
        hint: The next step for the user.
    """

    def __init__(
        self,
        what: str,
        *,
        value: object = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what, self.value, self.allowed, self.hint = what, value, allowed, hint
        parts = [what if value is None else f"{what} (got {value!r})"]
        if allowed:
            parts.append(f"Allowed: {allowed}.")
        if hint:
            parts.append(f"Next: {hint}.")
        super().__init__(" ".join(_sentence(part) for part in parts))


class InputError(Kin4dError):
    """A file, argument or array from the user cannot be used."""


class OutputError(Kin4dError):
    """A result could not be written."""


class MissingExtraError(Kin4dError, ImportError):
    """An optional dependency is needed for this and is not installed."""


def _sentence(text: str) -> str:
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else text + "."
