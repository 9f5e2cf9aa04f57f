"""Pieces of hand-made SVG: safe text, text that fits, round axis ticks, and the colours of every picture.

The colours are the colour-blind-safe set of Okabe and Ito (2008); hatching carries the same meaning without colour.
"""

from __future__ import annotations

import math
import unicodedata
from html import escape

BLUE = "#0072b2"
ORANGE = "#e69f00"
GREEN = "#009e73"
VERMILLION = "#d55e00"
SKY = "#56b4e9"
PURPLE = "#cc79a7"
BLACK = "#1a1a1a"
GREY = "#6b6b6b"
LIGHT = "#d4d4d4"

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def clean(text: str) -> str:
    """Text with every character that XML forbids (controls, lone surrogates) replaced by U+FFFD."""
    return "".join(c if _allowed(ord(c)) else "\ufffd" for c in text)


def _allowed(code: int) -> bool:
    return code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


def safe(text: str) -> str:
    """Text escaped for XML content and attributes."""
    return escape(clean(text), quote=True)


def text_width_px(text: str, size_px: float) -> float:
    """Estimated width of a text, pixels; a little generous, so that what fits by it fits."""
    return sum(_advance(c) for c in text) * size_px


def _advance(char: str) -> float:
    if char in "iljtf.,:;'|!()[]/ -":
        return 0.38
    if char in "mwMW@%":
        return 0.95
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    return 0.68 if char.isupper() or char in "←≈−=" else 0.61


def fit(text: str, width_px: float, size_px: float) -> str:
    """The text, cut with an ellipsis where it is wider than the room; empty where nothing useful fits."""
    text = clean(" ".join(text.split()))
    if text_width_px(text, size_px) <= width_px:
        return text
    while text and text_width_px(text + "…", size_px) > width_px:
        text = text[:-1]
    return text + "…" if len(text) > 1 else ""


def ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """At most ``most`` + 1 round numbers (1, 2, 2.5 or 5 times a power of ten apart) from low to high."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return (low,)
    raw = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10, 20) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(i * step for i in range(first, last + 1))


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def label(value: float) -> str:
    """A number for people: up to four significant digits, thousands separated."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
