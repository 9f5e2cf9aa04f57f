"""Whatever stands in a certificate or a model file: a verdict or one line of error, never another exception."""

from __future__ import annotations

import copy
import json
import random
import re
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlane.oracle.certificate import certificate
from fairlane.oracle.explicit.explicit_model import explicit_model
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.model_average import average_reward
from fairlane.oracle.explicit.model_solver import solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.solve import solve
from fairlane.reference.checker.certificate_check import check_certificate
from fairlane.reference.errors import CertificateRejected, DataError, FairlaneError, InvalidInstance
from fairlane.reference.model.codec import parse_json
from tests.counts import count
from tests.random_instances import random_instance

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from(
        ["", "1/0", "1/3", "-2", "2/4", "0", "1e5", "nan", 0.5, 10**70, "9" * 5000, [], {}, [[]], [0, 0, 0]]
    ),
    st.text(max_size=4),
)


REPLACEMENTS = ["", " ", "\n", "0", "1", "7", "-1", "1/3", "[", "]", ":", "@model", "state", "x"]


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    out = [path] if path else []
    if isinstance(document, (dict, list)):
        for key, inner in document.items() if isinstance(document, dict) else enumerate(document):
            out += places(inner, (*path, key))
    return out


@settings(max_examples=count(1500))
@given(st.data(), st.integers(0, 30))
def test_a_changed_certificate_is_rejected_or_equal(data: st.DataObject, seed: int) -> None:
    instance = random_instance(random.Random(seed), age=seed % 3 == 0, most_requests=2)
    document: Any = certificate(instance, solve(instance))
    changed = copy.deepcopy(document)
    path = data.draw(st.sampled_from(places(document)))
    at: Any = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = data.draw(leaves)
    try:
        checked = check_certificate(parse_json(json.dumps(changed), "certificate"), instance)
    except (CertificateRejected, InvalidInstance):
        return
    # accepted only where the change says the same: 1 for "1", null for nothing, and so on
    assert checked.value == check_certificate(parse_json(json.dumps(document), "certificate"), instance).value


@settings(max_examples=count(1500))
@given(st.data(), st.integers(0, 30))
def test_a_changed_model_file_is_solved_or_refused(data: st.DataObject, seed: int) -> None:
    text = to_drn(explicit_model(random_instance(random.Random(seed), most_requests=1)))
    words = re.split(r"(\s+)", text)
    for _ in range(data.draw(st.integers(1, 3))):
        k = data.draw(st.integers(0, len(words) - 1))
        words[k] = data.draw(st.sampled_from(REPLACEMENTS))
    said: list[str] = []
    model = None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.drn"
        file.write_text("".join(words))
        try:
            model = read_drn(file)
        except DataError as error:
            said.append(str(error))
    for solver in (solve_model, average_reward):
        try:
            if model is not None:
                solver(model)
        except FairlaneError as error:
            said.append(str(error))
    assert not any("\n" in line for line in said)
