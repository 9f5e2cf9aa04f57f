"""The decision explorer in a real browser: keyboard, mouse, and numbers that were worked out by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs playwright: fairlane[browser]")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

# the better order is short, long: outputs after 4 and 12 ms; the other gives 8 and 12, a loss of 4
TWO = {
    "graphs": [{"name": "p", "duration_ms": 4, "prefill_capacity": 256}],
    "requests": [{"id": "<long>", "prompt": 512, "limit": 1}, {"id": "short", "prompt": 100, "limit": 1}],
    "objective": {"decode_value": 4, "first_output_price": 1},
}
# a draft is accepted half of the time, so the first graph has two outcomes
DRAFT = {
    "graphs": [{"name": "w2", "duration_ms": 3, "decode_capacity": 1, "width": 2}],
    "requests": [{"id": "a", "prompt": 0, "limit": 2, "acceptance": ["1/2"]}],
    "objective": {"decode_value": 1, "age_price": 1},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def opened(browser: Any, folder: Path, instance: Mapping[str, object], *words: str) -> tuple[Any, list[str]]:
    """The page of an instance, and the errors that its script raises."""
    (folder / "it.json").write_text(json.dumps(instance), encoding="utf-8")
    assert run(["explore", str(folder / "it.json"), "--html", str(folder / "it.html"), *words]) == 0
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "it.html").as_uri())
    return page, errors


def test_a_run_by_keyboard_and_mouse(browser: Any, tmp_path: Path) -> None:
    page, errors = opened(browser, tmp_path, TWO, "--policy", "fixed-value")
    rows = page.locator("#decisions tbody tr")
    assert rows.count() == 2
    assert "p ← short" in rows.nth(0).inner_text()
    assert "best" in rows.nth(0).inner_text()
    # fixed-value prefers 256 tokens in 4 ms to 100 and one output
    assert "fixed-value" in rows.nth(1).inner_text()
    assert rows.nth(1).locator("td").nth(3).inner_text() == "4"
    assert page.get_by_title("604", exact=True).count() >= 2, "the exact optimum, on the value and in the sums"
    for _ in range(3):
        page.keyboard.press("b")
    assert page.evaluate("document.body.dataset.page") == "end"
    assert page.locator("#lost").inner_text() == "0"
    assert page.locator("#timeline rect").count() == 3
    assert "12 ms" in page.locator("#timeline").inner_text()
    page.keyboard.press("r")
    rows.nth(1).click()
    assert page.locator("#lost").inner_text() == "4"
    assert "−4" in page.locator("#timeline").inner_text(), "the losing decision is marked where it was taken"
    page.keyboard.press("Backspace")
    assert page.locator("#lost").inner_text() == "0"
    assert rows.nth(1).get_attribute("class") == "picked", "going back shows what was taken"
    page.keyboard.press("ArrowUp")
    assert [rows.nth(i).get_attribute("class") for i in (0, 1)] == ["picked", None]
    page.keyboard.press("p")
    assert page.evaluate("document.body.dataset.steps") == "1"
    assert errors == []


def test_outcomes_are_chosen_with_their_probabilities(browser: Any, tmp_path: Path) -> None:
    page, errors = opened(browser, tmp_path, DRAFT)
    page.keyboard.press("Enter")
    said = [text.replace("\xa0", " ") for text in page.locator("#outcomes button").all_inner_texts()]
    assert [("a +1" in text, "50 %" in text) for text in sorted(said, key=lambda text: "a +2" in text)] == [
        (True, True),
        (False, True),
    ]
    page.locator("#outcomes button", has_text="a +2").click()
    assert page.evaluate("document.body.dataset.page") == "end"
    # by hand: two tokens, and an age area of 3*3/2
    assert page.locator("#sums b").first.inner_text() == "-2.5"
    assert page.locator("#policykey").count() == 0
    assert errors == []


def test_names_are_text_and_never_markup(browser: Any, tmp_path: Path) -> None:
    page, errors = opened(browser, tmp_path, TWO)
    assert "<long>" in page.locator("#state").inner_text()
    assert errors == []
