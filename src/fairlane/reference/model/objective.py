"""What an episode is worth: values for work, prices for time, waiting and age."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, show

PRICES = (
    "prefill_value",
    "decode_value",
    "time_price",
    "completion_price",
    "first_output_price",
    "age_price",
    "energy_price",
)


@dataclass(frozen=True, slots=True, init=False)
class Objective:
    """Values and prices of an episode; all >= 0, kept as Fractions.

    Parameters
    ----------
    decode_value : number
        Per output token published (times w_i). Always given, never defaulted.
    prefill_value : number
        Per prompt token consumed (times w_i); 1 unless given.
    time_price : number
        Per elapsed ms while any request is unfinished.
    completion_price : number
        Per ms until request i finishes (times w_i).
    first_output_price : number
        Per ms until request i's first output (times w_i), for requests with prompt > 0.
    age_price : number
        Per request·ms² of output age while decoding (times w_i).
    energy_price : number
        Per joule that launches take, as their graphs' ``energy_j`` says.

    Raises
    ------
    InvalidInstance
        A value or price is negative or no number.
    """

    decode_value: Fraction
    prefill_value: Fraction
    time_price: Fraction
    completion_price: Fraction
    first_output_price: Fraction
    age_price: Fraction
    energy_price: Fraction

    def __init__(
        self,
        *,
        decode_value: Real | str,
        prefill_value: Real | str = 1,
        time_price: Real | str = 0,
        completion_price: Real | str = 0,
        first_output_price: Real | str = 0,
        age_price: Real | str = 0,
        energy_price: Real | str = 0,
        where: str = "objective",
    ) -> None:
        given = (
            prefill_value,
            decode_value,
            time_price,
            completion_price,
            first_output_price,
            age_price,
            energy_price,
        )
        for name, value in zip(PRICES, given, strict=True):
            exact = as_fraction(value, f"{where}.{name}")
            if exact < 0:
                raise InvalidInstance(f"{where}.{name} is {show(exact)}; need >= 0")
            object.__setattr__(self, name, exact)
