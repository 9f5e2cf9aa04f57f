"""What can go wrong, by kind; every message says what was found, what is needed, and where."""

from __future__ import annotations


class FairlaneError(Exception):
    """Root of every error this package raises on purpose."""


class InvalidInstance(FairlaneError, ValueError):
    """A value outside its domain: one line with what was found, what is needed, and where."""


class DataError(FairlaneError, ValueError):
    """A file that cannot be read as what it claims to be."""


class PolicyError(FairlaneError):
    """A policy returned something that is no legal decision."""


class IdlesWithWork(PolicyError):
    """A policy said "nothing to do" while a request could be served."""


class Unsupported(FairlaneError):
    """A request this code does not serve: a missing extra, or a combination without a method."""


class TooLarge(Unsupported):
    """A refusal by size; the message carries the size, the limit and what would make it fit.

    ``states`` is how many there are at least, 0 where states were not what was counted.
    """

    def __init__(self, message: str, *, states: int = 0) -> None:
        super().__init__(message)
        self.states = states


class CertificateRejected(FairlaneError):
    """A checker found a number in a certificate that does not hold."""
