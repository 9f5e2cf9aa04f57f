"""A model of one decision, written by hand in each text format.

One request without a prompt and one row a graph: the only choice publishes its one token, earns 4 a token less 1 a ms
for 1/2 ms, 7/2, and ends the episode for certain.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fairlane.oracle.explicit.explicit_model import ExplicitModel, explicit_model
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.export_prism import ENDINGS, to_prism
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


@pytest.fixture
def instance() -> Instance:
    return Instance(
        graphs=[Graph(name="d", duration_ms="1/2", decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=1)],
        objective=Objective(decode_value=4, time_price=1),
    )


@pytest.fixture
def model(instance: Instance) -> ExplicitModel:
    return explicit_model(instance)


def test_the_model_has_one_choice_and_an_end_in_which_nothing_happens(model: ExplicitModel) -> None:
    assert model.initial == 0
    assert model.final == {1}
    (choice,) = model.choices[0]
    assert choice.reward == Fraction(7, 2)
    assert choice.to == ((1, Fraction(1)),)
    assert all(after.reward == 0 and after.to == ((1, Fraction(1)),) for after in model.choices[1])


def test_prism_files_are_these(model: ExplicitModel) -> None:
    files = to_prism(model)
    assert tuple(files) == ENDINGS
    assert files[".sta"] == "(s)\n0:(0)\n1:(1)\n"
    assert files[".tra"].splitlines()[:2] == [f"2 {model.n_choices} {model.n_choices}", "0 0 1 1"]
    assert files[".trew"].splitlines()[1] == "0 0 1 7/2"
    assert files[".lab"] == '0="init" 1="deadlock" 2="done"\n0: 0\n1: 2\n'


def test_drn_names_the_reward_the_start_and_the_end(model: ExplicitModel) -> None:
    text = to_drn(model)
    assert "@type: MDP" in text
    assert "@nr_states\n2\n" in text
    # the bracket behind a state's number is its own reward
    assert "state 0 [0] init\n\taction 0 [7/2]\n\t\t1 : 1\n" in text
    assert "state 1 [0] done\n" in text


def test_a_model_of_too_many_states_is_refused(instance: Instance) -> None:
    # two requests, each to serve or served: three states that are not final
    two = replace(instance, requests=tuple(Request(id=name, prompt=0, limit=1) for name in "ab"))
    assert len(explicit_model(two, max_states=4).choices) == 4
    with pytest.raises(TooLarge):
        explicit_model(two, max_states=2)
