"""Pages of checked notes: derived statuses, values in place, the graph, and a build by Sphinx without warnings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fairlane.proofs.claims.checking import Report
from fairlane.proofs.claims.collection import load_collection
from fairlane.proofs.claims.graph_page import BOX_PX, box_width, layout
from fairlane.proofs.claims.rendering import show_value
from fairlane.proofs.claims.site import pages_of
from tests.claim_texts import checked, claim_text

NOTE = """# The first note

The sum is {val}`sum`, about {val}`sum .3`; see {claim}`square`, section {num}`4`.
In code, `{val}` stands as it is: ``{val}`sum` ``.

```python
x = "{val}`sum`"
```

"""
CLAIMS = "\n".join(
    [
        claim_text("exact", "1/3 + 1/6 == 1/2", claim_id="sum", title="A sum"),
        claim_text("identity", "(a + b)**2 == a**2 + 2*a*b + b**2", claim_id="square", vars="a, b", uses="sum"),
        claim_text("not-forall", "x**2 >= x", claim_id="apart", vars="x", witness="x = 1/2"),
    ]
)
INSIDE = (
    "\n::::{note}\nA note holds {val}`sum`.\n\n"
    + claim_text("exact", "1 == 1", claim_id="inside", uses="square")
    + "::::\n"
)


def pages(folder: Path) -> tuple[dict[str, str], Report]:
    report = checked(folder)
    return pages_of(load_collection(folder), report), report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "first.md").write_text(NOTE + CLAIMS + INSIDE, encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "second.md").write_text("# Second\n\nAgain {val}`sum`.\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "decimals", "expected"),
    [
        ("9/5", None, "9/5"),
        ("9/5", 1, "1.8"),
        ("2/3", 3, "0.667"),
        ("-1/3", 2, "-0.33"),
        ("-1/1000", 1, "0.0"),
        ("7", 0, "7"),
        ("199/100", 1, "2.0"),
        ("3602879701896397/36028797018963968", None, "≈0.1"),
    ],
)
def test_values_are_exact_or_rounded_as_asked(text: str, decimals: int | None, expected: str) -> None:
    assert show_value(text, decimals) == expected


def test_values_stand_in_prose_and_code_stays_code(folder: Path) -> None:
    text = pages(folder)[0]["first.md"]
    assert "The sum is [1/2](#claim-sum), about [0.500](#claim-sum); see [square](#claim-square), section 4." in text
    assert "``{val}`sum` ``." in text
    assert 'x = "{val}`sum`"' in text
    assert "A note holds [1/2](#claim-sum)." in text


def test_a_box_shows_status_strength_evidence_and_ground(folder: Path) -> None:
    text = pages(folder)[0]["first.md"]
    assert ":::{admonition} A sum\n:class: claim claim-green\n" in text
    assert "**holds (two solvers).**" in text
    assert "Rests on [sum](#claim-sum) (exact) at its weakest." in text
    assert "- flint: residue of" in text


def test_a_proof_shows_its_own_statement(folder: Path) -> None:
    from fairlane.proofs import load

    (folder / "third.md").write_text(claim_text("proof", "", claim_id="area", module="age-area"), encoding="utf-8")
    text = pages(folder)[0]["third.html"]
    assert load("age-area").statement[:60] in text
    assert "<li>statement:" not in text


def test_a_value_of_a_failed_claim_is_marked(folder: Path) -> None:
    (folder / "first.md").write_text((NOTE + CLAIMS + INSIDE).replace("== 1/2", "== 1/3"), encoding="utf-8")
    found = pages(folder)[0]
    assert "The sum is [?(sum: no value)](#claim-sum)" in found["first.md"]
    assert "**doubtful: holds, but sum is failed.**" in found["first.md"]
    assert "claim-red" in found["first.html"]


def test_plain_pages_link_to_each_other_and_need_no_network(folder: Path) -> None:
    found = pages(folder)[0]
    assert '<a href="../first.html#claim-sum">1/2</a>' in found["deep/second.html"]
    for name, text in found.items():
        if not name.endswith(".html"):
            continue
        assert "<script" not in text
        for address in re.findall(r'(?:href|src)="([^"]*)"', text):
            page, _, anchor = address.partition("#")
            target = (Path(name).parent / page).as_posix()
            resolved = Path("/site", target).resolve().relative_to("/site").as_posix()
            assert resolved in found, (name, address)
            assert not anchor or f'id="{anchor}"' in found[resolved], (name, address)


def test_the_graph_is_well_formed_and_its_boxes_do_not_overlap(folder: Path) -> None:
    found, report = pages(folder)
    root = ElementTree.fromstring(found["claim-graph.svg"])
    links = [a.get("href") for a in root.iter("{http://www.w3.org/2000/svg}a")]
    assert sorted(str(link).partition("#claim-")[2] for link in links) == sorted(report.everything)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}marker"))) == 1


def test_every_layer_of_the_layout_lies_below_what_it_rests_on() -> None:
    import networkx as nx

    graph = nx.DiGraph()
    names = [f"claim-number-{i}" for i in range(60)]
    graph.add_nodes_from(names)
    # a tree of 40 and 20 claims on their own: child i rests on (i - 1) // 3
    graph.add_edges_from((names[i], names[(i - 1) // 3]) for i in range(1, 40))
    places, width, height = layout(graph, names)
    for child, parent in graph.edges:
        assert places[parent][1] + BOX_PX < places[child][1]
    boxes = [(x - box_width(n) / 2, x + box_width(n) / 2, y) for n, (x, y) in places.items()]
    for i, (left, right, y) in enumerate(boxes):
        assert 0 <= left < right <= width
        assert 0 < y < height
        for other_left, other_right, other_y in boxes[:i]:
            assert abs(y - other_y) >= BOX_PX or right <= other_left or other_right <= left


CONF = """
project = "test"
extensions = ["myst_parser"{more}]
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_theme = "basic"
exclude_patterns = ["_out"]
fairlane_notes = "notes"
fairlane_notes_run = "changed"
"""


def sphinx(source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(source), str(source / "_out")],
        capture_output=True,
        text=True,
        check=False,
    )


def test_sphinx_takes_the_written_markdown_as_it_is(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("written")
    for name, text in pages(folder)[0].items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    (source / "conf.py").write_text(CONF.replace("{more}", "").replace("fairlane_", "# "))
    done = sphinx(source)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'href="../first.html#claim-sum"' in (source / "_out" / "deep" / "second.html").read_text(encoding="utf-8")


def test_the_extension_shows_notes_as_they_were_written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("extension")
    folder.rename(source / "notes")
    (source / "conf.py").write_text(CONF.replace("{more}", ', "fairlane.proofs.claims.sphinx_ext"'))
    (source / "index.md").write_text(
        "# Start\n\n```{toctree}\nnotes/first\nnotes/deep/second\n```\n\nHere {val}`sum .2`.\n\n```{claim-graph}\n```\n"
    )
    done = sphinx(source)
    assert (done.returncode, done.stderr) == (0, "")
    start = (source / "_out" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'href="notes/first.html#claim-sum"><span class="std std-ref">0.50</span>', start)
    assert 'href="notes/first.html#claim-apart"' in start
    note = (source / "_out" / "notes" / "first.html").read_text(encoding="utf-8")
    assert 'id="claim-square"' in note
    assert "holds (two solvers)" in note
    assert ".admonition.claim-green" in note


def test_the_extension_warns_of_what_needs_mending(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source = tmp_path_factory.mktemp("mending")
    folder.rename(source / "notes")
    with (source / "notes" / "first.md").open("a", encoding="utf-8") as file:
        file.write("\nIt took 17 tries.\n")
    (source / "conf.py").write_text(CONF.replace("{more}", ', "fairlane.proofs.claims.sphinx_ext"'))
    (source / "index.md").write_text("# Start\n\n```{toctree}\nnotes/first\nnotes/deep/second\n```\n")
    done = sphinx(source)
    assert done.returncode != 0
    assert "bare number 17 in prose" in done.stderr


@pytest.mark.parametrize(("says", "succeeds"), [("two() == 2", True), ("two() == 3", False)])
def test_a_build_imports_the_notes_own_modules_and_fails_on_a_red_claim(
    says: str, succeeds: bool, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "own.py").write_text("def two() -> int:\n    return 2\n", encoding="utf-8")
    text = "# Own\n\n" + claim_text("exact", says, claim_id="two", import_="own:two")
    (tmp_path / "notes" / "first.md").write_text(text, encoding="utf-8")
    (tmp_path / "conf.py").write_text(CONF.replace("{more}", ', "fairlane.proofs.claims.sphinx_ext"'))
    (tmp_path / "index.md").write_text("# Start\n\n```{toctree}\nnotes/first\n```\n")
    done = sphinx(tmp_path)
    assert (done.returncode == 0) is succeeds, done.stderr
    assert ("claim 'two' is red" in done.stderr) is not succeeds
