"""Certificates of nonnegativity: a polynomial written as a sum of terms that cannot be negative.

Where p = Σ c_k · (product of quantities that are >= 0) · (square), with coefficients c_k >= 0, p is nonnegative
wherever those quantities are. Nothing has to be trusted but the equality of two polynomials, and that is decided here
by multiplying out over the rationals, in a few lines that share no code with the solvers or the computer algebra.

References
----------
Krivine (1964), Anneaux préordonnés, doi:10.1007/BF02807438; Stengle (1974), doi:10.1007/BF01362149: such forms exist.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.claims.status import Strength
from fairlane.proofs.evidence import Evidence, EvidenceKind, Refuted
from fairlane.reference.errors import InvalidInstance

# exponents by variable in order of name, zero exponents left out -> coefficient, zero coefficients left out
Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]
MAX_EXPONENT = 16


def certify_nonnegative(
    expression: str, terms: Sequence[tuple[str, str]], *, nonnegative: Sequence[str] = (), label: str = ""
) -> Evidence:
    """Evidence that a polynomial is nonnegative wherever some quantities are.

    Parameters
    ----------
    expression : str
        The polynomial, with ``+``, ``-``, ``*``, ``**`` and division by numbers.
    terms : sequence of (str, str)
        For each term its factor and what is squared: a factor is a product of numbers >= 0 and of entries of
        ``nonnegative``, joined by ``*``; an empty second text stands for 1.
    nonnegative : sequence of str
        Names, or polynomials in parentheses such as ``(1-q)``, that the hypotheses make >= 0.
    label : str
        What is shown; the inequality itself where left out.

    Returns
    -------
    Evidence
        Of strength certificate; its lines hold the certificate.

    Raises
    ------
    Refuted
        The terms do not add up to the polynomial, or a factor is not among what is nonnegative.
    InvalidInstance
        A text is no polynomial.
    """
    total: Polynomial = {}
    shown = []
    for factor, root in terms:
        product = _constant(Fraction(1))
        for part in (text.strip() for text in factor.split("*")):
            if part not in nonnegative and not _is_nonnegative_number(part):
                raise Refuted(f"{label or expression}: factor {part!r} is not known to be nonnegative")
            product = _times(product, read_polynomial(part))
        square = read_polynomial(root or "1")
        total = _plus(total, _times(product, _times(square, square)))
        shown.append(f"{factor}*({root})**2" if root else factor)
    left = _plus(read_polynomial(expression), {monomial: -c for monomial, c in total.items()})
    if left:
        raise Refuted(f"{label or expression}: the terms leave {_show(left)}")
    return Evidence(
        kind=EvidenceKind.CERTIFICATE,
        strength=Strength.CERTIFICATE,
        detail=label or f"{expression} >= 0",
        lines=(f"{expression} = {' + '.join(shown) or '0'}", "multiplied out over the rationals: difference 0"),
    )


def read_polynomial(text: str) -> Polynomial:
    """A polynomial multiplied out.

    Raises
    ------
    InvalidInstance
        Something else than numbers, names, sums, products, whole powers and division by numbers.
    """
    try:
        return _expand(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise InvalidInstance(f"{text!r}: {error.msg}; need a polynomial") from None


def _expand(node: ast.expr) -> Polynomial:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _constant(Fraction(node.value))
    if isinstance(node, ast.Name):
        return {((node.id, 1),): Fraction(1)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return {monomial: -c for monomial, c in _expand(node.operand).items()}
    if isinstance(node, ast.BinOp):
        left, right = _expand(node.left), _expand(node.right)
        value = right.get((), Fraction(0)) if not any(right) else None
        if isinstance(node.op, ast.Add):
            return _plus(left, right)
        if isinstance(node.op, ast.Sub):
            return _plus(left, {monomial: -c for monomial, c in right.items()})
        if isinstance(node.op, ast.Mult):
            return _times(left, right)
        if isinstance(node.op, ast.Div) and value:
            return {monomial: c / value for monomial, c in left.items()}
        if isinstance(node.op, ast.Pow) and value is not None and value in range(MAX_EXPONENT + 1):
            power = _constant(Fraction(1))
            for _ in range(int(value)):
                power = _times(power, left)
            return power
    raise InvalidInstance(f"{ast.unparse(node)!r} is no polynomial over the rationals; need one")


def _constant(value: Fraction) -> Polynomial:
    return {(): value} if value else {}


def _plus(left: Polynomial, right: Polynomial) -> Polynomial:
    total = {m: left.get(m, Fraction(0)) + right.get(m, Fraction(0)) for m in {**left, **right}}
    return {monomial: c for monomial, c in total.items() if c}


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for first, a in left.items():
        for second, b in right.items():
            exponents = dict(first)
            for name, exponent in second:
                exponents[name] = exponents.get(name, 0) + exponent
            monomial = tuple(sorted(exponents.items()))
            total[monomial] = total.get(monomial, Fraction(0)) + a * b
    return {monomial: c for monomial, c in total.items() if c}


def _is_nonnegative_number(text: str) -> bool:
    try:
        return Fraction(text) >= 0
    except (ValueError, ZeroDivisionError):
        return False


def _show(polynomial: Polynomial) -> str:
    parts = []
    for monomial, c in sorted(polynomial.items()):
        parts.append("*".join([str(c), *(n if e == 1 else f"{n}**{e}" for n, e in monomial)]))
    return " + ".join(parts)
