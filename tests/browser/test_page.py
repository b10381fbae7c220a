"""The page in a real Chromium: what it shows, how it follows a run, and what it never does."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fanal.page.publish import publish
from tests.browser.conftest import PHONE, WIDE, Opener
from tests.worlds.campaign_record import Made

pytestmark = pytest.mark.browser
Serving = Callable[[Path], str]
SECTIONS = ("hero", "ladder", "domains", "data", "router", "samples", "timeline", "model")
AMBER = (194, 118, 0)


def test_the_headline_and_every_part_are_shown(look: Opener, serving: Serving, hero: Made) -> None:
    page = look(serving(hero.folder)).page
    expect(page.locator("#headline")).to_contain_text("Hero 54\u00a0% done;")
    expect(page).to_have_title(re.compile(r"^Hero 54\s% done · Lantern"))
    for section in SECTIONS:
        expect(page.locator(f"#{section}")).to_be_visible()
    assert page.locator(".absent:visible").count() == 0
    assert page.locator("#domain-panels figure").count() == 10
    assert page.locator("#router-maps canvas").count() == 4


def test_a_new_row_appears_without_a_reload(look: Opener, serving: Serving, hero: Made) -> None:
    watched = look(serving(hero.folder))
    page = watched.page
    expect(page.locator("#headline")).to_contain_text("Hero 5")
    page.evaluate("globalThis.stillHere = true")
    before = page.locator("#headline").inner_text()
    frac = hero._hero_step / hero.plan.hero.num_steps + 0.04  # pyright: ignore[reportPrivateUsage]
    hero.hero(frac)
    expect(page.locator("#headline")).to_contain_text(f"Hero {100 * frac:.0f}\u00a0% done;", timeout=8000)
    assert page.locator("#headline").inner_text() != before
    assert page.evaluate("globalThis.stillHere")
    views = [a for a in watched.asked if "/view/" in a]
    assert len(views) == len(set(views)) >= 2


def test_the_page_before_the_record_waits_and_then_shows_it(look: Opener, serving: Serving, tmp_path: Path) -> None:
    page = look(serving(tmp_path / "campaign")).page
    expect(page.locator("#headline")).to_contain_text("Waiting for the first row.")
    made = Made(tmp_path / "campaign").data("near_duplicates")
    expect(page.locator("#opening")).to_contain_text("near duplicates", timeout=8000)
    made.close()


def test_hostile_words_are_text(look: Opener, serving: Serving, hostile: Made) -> None:
    page = look(serving(hostile.folder)).page
    shown = hostile.recipe.hostile or ""
    expect(page.locator("#title")).to_have_text(shown)
    expect(page.locator("#question")).to_have_text(shown)
    expect(page.locator("#sample-list")).to_contain_text(shown)
    assert page.locator("main img, main script, main iframe, [onerror], [onload]").count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0


def test_a_run_that_fell_silent_says_so(look: Opener, serving: Serving, hostile: Made) -> None:
    page = look(serving(hostile.folder)).page
    expect(page.locator("#headline")).to_contain_text("Silent. Nothing since 21 September 2026")
    expect(page.locator("#state .word")).to_have_text("Silent")


def test_a_gap_of_values_that_are_not_finite_has_no_ink(look: Opener, serving: Serving, hostile: Made) -> None:
    page = look(serving(hostile.folder)).page
    page.wait_for_selector(".uplot canvas")
    steps = [s / hostile.plan.hero.num_steps for s in hostile.plan.hero.pulse_steps]
    expect(page.locator("#hero .over")).to_contain_text("2 not finite")
    before, gap, after = ink(page, [(steps[a] + 0.01, steps[b] - 0.01) for a, b in ((2, 3), (3, 6), (6, 7))])
    assert gap == 0
    assert min(before, after) > 20


def ink(page: Page, stretches: list[tuple[float, float]]) -> list[int]:
    """Amber pixels of the hero's curves in stretches of the run."""
    return page.evaluate(
        """([stretches, amber]) => {
          const plot = document.querySelector('#hero .plot'), canvas = plot.querySelector('canvas');
          const [left, right] = [44, 112], inner = plot.clientWidth - left - right;
          const scale = canvas.width / plot.clientWidth;
          const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          const isAmber = (i) => pixels[i + 3] > 200 && amber.every((c, k) => Math.abs(pixels[i + k] - c) < 24);
          return stretches.map(([first, last]) => {
            const [from, to] = [first, last].map((p) => Math.round((left + inner * p) * scale));
            let count = 0;
            for (let y = 0; y < canvas.height; y += 1)
              for (let x = from; x < to; x += 1) count += isAmber(4 * (y * canvas.width + x)) ? 1 : 0;
            return count;
          });
        }""",
        [stretches, AMBER],
    )


@pytest.mark.parametrize("width", [360, 390, 640, 768, 900, 1024, 1600])
def test_nothing_scrolls_sideways(look: Opener, serving: Serving, hero: Made, width: int) -> None:
    page = look(serving(hero.folder), viewport={"width": width, "height": 844}).page
    page.wait_for_selector("#ladder-chart svg")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for chart in page.locator(".plot:visible").all():
        box = chart.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("viewport", [PHONE, WIDE])
def test_light_and_dark_follow_the_system_and_the_button_overrules(
    look: Opener, serving: Serving, hero: Made, viewport: dict[str, int]
) -> None:
    page = look(serving(hero.folder), viewport=viewport, color_scheme="dark").page
    assert ground(page) == "rgb(13, 21, 32)"
    page.click("#theme")
    assert ground(page) == "rgb(251, 250, 246)"
    page.reload()
    assert ground(page) == "rgb(251, 250, 246)"
    page.click("#theme")
    assert ground(page) == "rgb(13, 21, 32)"


def ground(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_arrow_keys_move_the_cursor_and_speak(look: Opener, serving: Serving, hero: Made) -> None:
    page = look(serving(hero.folder)).page
    plot, readout, spoken = (page.locator(f"#hero {part}") for part in (".plot", ".readout", ".spoken"))
    plot.focus()
    page.keyboard.press("End")
    expect(readout).to_be_visible()
    newest = readout.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(readout).not_to_have_text(newest)
    expect(readout).to_contain_text("from the forecast")
    expect(spoken).to_have_text(readout.inner_text())
    page.keyboard.press("Home")
    expect(readout).to_contain_text("step 0, 0\u00a0%")
    page.keyboard.press("Escape")
    expect(readout).to_be_hidden()


def test_every_chart_has_a_name_and_takes_the_keyboard(look: Opener, serving: Serving, hero: Made) -> None:
    page = look(serving(hero.folder)).page
    page.wait_for_selector("#router-maps .plot")
    for plot in page.locator(".plot:visible").all():
        assert len(plot.get_attribute("aria-label") or "") > 20
        plot.focus()
        page.keyboard.press("ArrowRight")
        expect(plot.locator("xpath=../div[contains(@class, 'readout')]")).to_be_visible()


def test_a_chart_opens_as_a_table(look: Opener, serving: Serving, hero: Made) -> None:
    page = look(serving(hero.folder)).page
    page.click("#hero .as-table")
    expect(page.locator("#hero .figures tbody tr").first).to_contain_text("0\u00a0%")
    assert page.locator("#hero .figures tbody tr").count() == len(
        [s for s in hero.plan.hero.pulse_steps if s <= hero._hero_step]  # pyright: ignore[reportPrivateUsage]
    )


def test_a_drag_looks_closer_and_updates_keep_the_view(look: Opener, serving: Serving, hero: Made) -> None:
    page = look(serving(hero.folder)).page
    box = page.locator("#hero .u-over").bounding_box()
    assert box is not None
    ticks = page.locator("#hero .under text").all_text_contents()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 120, steps=4)
    page.mouse.up()
    expect(page.locator("#hero .under text").last).to_be_visible()
    closer = page.locator("#hero .under text").all_text_contents()
    assert closer != ticks
    page.set_viewport_size({"width": 1500, "height": 1000})
    page.wait_for_timeout(200)
    assert page.locator("#hero .under text").all_text_contents()[-1] == closer[-1]
    page.mouse.dblclick(box["x"] + 200, box["y"] + 100)
    page.wait_for_timeout(200)
    assert page.locator("#hero .under text").all_text_contents()[0] == ticks[0]


def test_a_file_server_shows_the_same_page(
    look: Opener, serving: Serving, file_server: Serving, hostile: Made, tmp_path: Path
) -> None:
    publish(hostile.folder, tmp_path / "deep" / "site")
    live = look(serving(hostile.folder)).page
    still = look(file_server(tmp_path) + "deep/site/").page
    for page in (live, still):
        page.wait_for_selector("#router-maps canvas")
    assert still.locator("main").inner_text() == live.locator("main").inner_text()
    assert still.locator("#hero").inner_html() == live.locator("#hero").inner_html()


def test_a_hidden_tab_asks_for_nothing_and_catches_up_when_shown(look: Opener, serving: Serving, hero: Made) -> None:
    watched = look(serving(hero.folder))
    page = watched.page
    show = "(state) => { Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });"
    page.evaluate(f"{show} document.dispatchEvent(new Event('visibilitychange')); }}", "hidden")
    page.wait_for_timeout(300)
    asked = len(watched.asked)
    page.wait_for_timeout(1800)
    assert len(watched.asked) == asked
    page.evaluate(f"{show} document.dispatchEvent(new Event('visibilitychange')); }}", "visible")
    page.wait_for_timeout(500)
    assert len(watched.asked) > asked


def test_a_server_that_goes_away_is_said_and_what_was_shown_stays(look: Opener, serving: Serving, hero: Made) -> None:
    watched = look(serving(hero.folder))
    page = watched.page
    page.route("**/manifest.json", lambda route: route.abort())
    expect(page.locator("#fault")).to_be_visible(timeout=9000)
    expect(page.locator("#headline")).to_contain_text("Hero")
    page.unroute("**/manifest.json")
    expect(page.locator("#fault")).to_be_hidden(timeout=9000)
    watched.said[:] = [line for line in watched.said if "net::ERR_FAILED" not in line]
