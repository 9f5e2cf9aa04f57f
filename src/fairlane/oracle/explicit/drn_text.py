"""The text of a DRN file: plain or compressed, without comments, cut into words that may be quoted."""

from __future__ import annotations

import re
import zlib

from fairlane.reference.atomic_write import PathLike
from fairlane.reference.errors import DataError
from fairlane.reference.model.codec import MAX_BYTES, read_bytes

HEADERS = ("@type", "@value_type", "@parameters", "@reward_models", "@nr_states", "@nr_choices", "@model")

# a quoted word with its escapes, or a run of anything but blanks and quotes
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^\s"]+)')
_COMMENT = re.compile(r'((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)//')

Line = tuple[int, str]


def read_lines(path: PathLike) -> list[Line]:
    """Numbered lines of a file that are not empty, without comments; a name in ``.gz`` is decompressed.

    Raises
    ------
    DataError
        Not UTF-8, broken compression, or more than 256 MiB.
    """
    content = read_bytes(path)
    if str(path).lower().endswith(".gz"):
        content = _inflated(content, str(path))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); need UTF-8 text") from None
    lines = ((n, _without_comment(line).strip()) for n, line in enumerate(text.splitlines(), 1))
    return [(n, line) for n, line in lines if line]


def split_header(path: str, lines: list[Line]) -> tuple[dict[str, str], list[Line]]:
    """Header entries by name, and the lines of the model.

    Raises
    ------
    DataError
        An unknown header, or no model.
    """
    header: dict[str, str] = {}
    current: str | None = None
    for k, (n, line) in enumerate(lines):
        if line.startswith("@"):
            name, _, rest = line.partition(":")
            name = name.strip().split()[0]
            if name not in HEADERS:
                raise DataError(f"{path}:{n}: unknown header {name}; known ones are {', '.join(HEADERS)}")
            current = name
            header[name] = rest.strip()
            if name == "@model":
                return header, lines[k + 1 :]
        elif current is None:
            raise DataError(f"{path}:{n}: {line[:40]!r} stands before any header; need a DRN file")
        else:
            header[current] = f"{header[current]} {line}".strip()
    raise DataError(f"{path}: @model is missing; need a DRN file")


def words(text: str, path: str, n: int) -> list[str]:
    """The words of a text, quoted ones without their quotes.

    Raises
    ------
    DataError
        A quote that is not closed.

    Examples
    --------
    >>> words('init "goal reached" x', "m.drn", 1)
    ['init', 'goal reached', 'x']
    """
    if _WORD.sub("", text).strip():
        raise DataError(f"{path}:{n}: {text[:40]!r} has a quote that is not closed")
    return [plain if plain else re.sub(r"\\(.)", r"\1", quoted) for quoted, plain in _WORD.findall(text)]


def first_word(text: str, path: str, n: int) -> tuple[str, str]:
    """The first word of a text, without quotes, and the rest.

    Raises
    ------
    DataError
        A quote that is not closed.
    """
    match = _WORD.match(text)
    if match is None:
        if text:
            raise DataError(f"{path}:{n}: {text[:40]!r} has a quote that is not closed")
        return "", ""
    return words(match[0], path, n)[0], text[match.end() :].strip()


def _without_comment(line: str) -> str:
    match = _COMMENT.match(line) if "//" in line else None
    return line if match is None else match[1]


def _inflated(content: bytes, path: str) -> bytes:
    """What a gzip file holds, up to the size that a plain file may have."""
    out = bytearray()
    rest = content
    while rest:
        # one member after the other, as gzip itself reads them
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            out += member.decompress(rest, MAX_BYTES + 1 - len(out))
        except zlib.error as error:
            raise DataError(f"{path} is no gzip file: {error}; need one, or a name without .gz") from None
        if len(out) > MAX_BYTES:
            raise DataError(f"{path} holds more than {MAX_BYTES} bytes; need at most that")
        if not member.eof:
            raise DataError(f"{path} ends in the middle of its compressed data; need the whole file")
        rest = member.unused_data
    return bytes(out)
