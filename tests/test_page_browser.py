"""The page in a real browser: headless Chromium steps through it, looks at its widths, its colours and its silence."""

import json
import re
import shutil

import pytest

pytest.importorskip("jinja2")

from stages import STAGES, comparison, count
from stages.page import PRIMALS, Shown, words, write
from stages.programs import PROGRAMS

pytestmark = pytest.mark.browser

NAMES = ("fig1", "doublings")
HEADINGS = [heading for heading, _ in words.COUNTS.values()]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A page of two programs, one of them so long that a step is wide, and its plots."""
    family = comparison.Family("doublings", "sharing", (4, 6, 8))
    growths = list(comparison.grow(family, list(STAGES)))
    deep = PROGRAMS["deep"]
    with pytest.MonkeyPatch.context() as patch:  # times are shown, but do not matter here
        patch.setattr("stages.comparison._best", lambda run, *more: 1e-5)
        shown = [
            Shown(program.function, primals, comparison.compare(program, primals, 6))
            for program, primals in [*((PROGRAMS[name], PRIMALS[name]) for name in NAMES), (deep, deep.make(6, 0))]
        ]
    file = tmp_path_factory.mktemp("page") / "page.html"
    write(file, shown, growths)
    return file.as_uri()


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser = next(filter(None, map(shutil.which, names)), None)
    service = shutil.which("chromedriver")
    if browser is None or service is None:
        pytest.skip("no Chromium with chromedriver here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield made
    made.quit()


@pytest.fixture
def open_page(driver, url):
    """Opens the page at a width, in a colour scheme; the logs of the page before are dropped."""

    def opened(width=1280, dark=False):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get("about:blank")
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(url)
        return driver

    return opened


def stepper(driver, stage, program=0):
    return driver.find_element("id", f"p{program}-{stage}")


def at(root):
    """The step that is shown: the slider, the counter and the data agree on it."""
    k = int(root.get_attribute("data-at"))
    assert root.find_element("css selector", "input[type=range]").get_property("value") == str(k)
    assert root.find_element("css selector", ".where").text.startswith(f"{k + 1} of ")
    return k


def click(root, where):
    root.find_element("css selector", f"[data-go={where}]").click()


def counts(root):
    """The counts that a stepper shows; those that are 0 are not shown."""
    found = root.parent.execute_script(
        """return [...arguments[0].querySelectorAll(".running [data-count]")].map(
             (item) => [item.dataset.count, item.querySelector("b").innerText])""",
        root,
    )
    shown = {heading: int(number.replace(",", "")) for heading, number in found}
    return [shown.get(heading, 0) for heading in HEADINGS]


def cells(root, name):
    """The keys and values of a part of the state."""
    found = root.find_elements("css selector", f".area[data-name={name}] li")
    return {
        cell.find_element("css selector", ".key").text: cell.find_element("css selector", ".value").text
        for cell in found
    }


def test_buttons_step_forwards_and_backwards(open_page):
    root = stepper(open_page(), "staged")
    say = root.find_element("css selector", ".say")
    assert at(root) == 0
    assert say.text.startswith("Forward: v0 = x = 3")
    for k in range(1, 6):
        click(root, "on")
        assert at(root) == k
    assert say.text.startswith("Reverse: 3 is the highest id left")
    assert cells(root, "m") == {"d0": "5", "d2": "3"}
    assert [cell.text.split()[0] for cell in root.find_elements("css selector", ".area li.new")] == ["d0", "d2"]
    click(root, "on")
    assert cells(root, "m") == {"d0": "8", "d1": "3"}
    click(root, "back")
    assert at(root) == 5
    assert cells(root, "m") == {"d0": "5", "d2": "3"}
    click(root, "last")
    assert say.text == "Done. The cotangent of the input: 8 for x and 3 for y."
    assert cells(root, "c") == {"x": "8", "y": "3"}
    last = at(root)
    click(root, "on")
    assert at(root) == last
    click(root, "first")
    assert at(root) == 0
    click(root, "back")
    assert at(root) == 0


def test_the_keyboard_steps_forwards_and_backwards(open_page):
    keys = pytest.importorskip("selenium.webdriver").Keys
    driver = open_page()
    root = stepper(driver, "arrays")
    driver.execute_script("arguments[0].focus()", root)
    for key, k in ((keys.ARROW_RIGHT, 1), (keys.ARROW_RIGHT, 2), (keys.ARROW_LEFT, 1), (keys.END, 9), (keys.HOME, 0)):
        driver.switch_to.active_element.send_keys(key)
        assert at(root) == k
    driver.switch_to.active_element.send_keys(keys.TAB)  # to the first button, which steps as well as it goes
    assert driver.switch_to.active_element.get_attribute("data-go") == "first"
    driver.switch_to.active_element.send_keys(keys.ARROW_RIGHT)
    assert at(root) == 1
    driver.switch_to.active_element.send_keys(keys.TAB, keys.TAB)
    driver.switch_to.active_element.send_keys(keys.ENTER)
    assert at(root) == 2
    slide = root.find_element("css selector", "input[type=range]")
    slide.send_keys(keys.ARROW_RIGHT)
    assert at(root) == 3  # once, not twice


def test_what_happens_is_announced(open_page):
    root = stepper(open_page(), "tape")
    say = root.find_element("css selector", ".say")
    assert (say.get_attribute("role"), say.get_attribute("aria-live")) == ("status", "polite")
    assert root.get_attribute("aria-label") == "tape on fig1, step by step"
    labels = [button.accessible_name for button in root.find_elements("css selector", "button")]
    assert labels == ["first step", "one step back", "one step forward", "last step"]


@pytest.mark.parametrize("program", range(len(NAMES)))
def test_the_counts_shown_at_the_end_are_those_of_count(open_page, program):
    driver = open_page()
    driver.execute_script("document.querySelectorAll('input[name=program]')[arguments[0]].click()", program)
    f, primals = PROGRAMS[NAMES[program]].function, PRIMALS[NAMES[program]]
    for stage in STAGES:
        root = stepper(driver, stage, program)
        click(root, "last")
        expected = [getattr(count(stage, f, *primals), field) for field in words.COUNTS]
        assert counts(root) == expected
        row = driver.find_elements("css selector", f"#program tr[data-stage={stage}]")[program]
        shown = driver.execute_script("return [...arguments[0].querySelectorAll('td')].map((e) => e.innerText)", row)
        assert shown[: len(expected)] == [f"{n:,}" if n else "-" for n in expected]


def test_the_drawing_counts_the_calls_as_they_are_made(open_page):
    driver = open_page()
    driver.execute_script("document.querySelectorAll('input[name=program]')[1].click()")
    root = stepper(driver, "naive", 1)
    times = [node.find_element("css selector", ".times") for node in root.find_elements("css selector", ".node")]
    assert [text.text for text in times] == [f"0 of {n} call{'s' * (n > 1)}" for n in (16, 8, 4, 2, 1)]
    for _ in range(6):
        click(root, "on")
    assert [text.text for text in times][-1] == "1 of 1 call"
    click(root, "last")
    assert [text.text for text in times] == [f"{n} of {n} call{'s' * (n > 1)}" for n in (16, 8, 4, 2, 1)]


def test_the_line_of_the_program_is_marked_while_its_numbers_are_made(open_page):
    root = stepper(open_page(), "cayley")
    marked = []
    for _ in range(5):
        marked += [line.text.strip() for line in root.find_elements("css selector", "code.now")]
        click(root, "on")
    assert marked == ["z = x + y", "return x * z"]


def test_one_program_is_shown_at_a_time(open_page):
    driver = open_page()
    for k, choice in enumerate(driver.find_elements("css selector", "input[name=program]")):
        driver.execute_script("arguments[0].click()", choice)
        visible = {
            part.get_attribute("data-program")
            for part in driver.find_elements("css selector", "[data-program]")
            if part.is_displayed()
        }
        assert visible == {f"p{k}"}


def test_nothing_is_logged_and_no_request_leaves_the_page(open_page, url):
    driver = open_page()
    for stage in STAGES:
        click(stepper(driver, stage), "last")
    driver.execute_script("document.querySelectorAll('input[name=program]')[1].click()")
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert url in requests
    assert {request for request in requests if not request.startswith("data:")} == {url}


@pytest.mark.parametrize(("width", "program"), [(320, 0), (390, 0), (390, 2), (1280, 2)])
def test_the_page_does_not_scroll_sideways(open_page, width, program):
    driver = open_page(width)
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    driver.execute_script("document.querySelectorAll('input[name=program]')[arguments[0]].click()", program)
    for where in ("first", "last"):
        driver.execute_script(
            "for (const b of document.querySelectorAll(`[data-go=${arguments[0]}]`)) b.click()", where
        )
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    too_wide = driver.execute_script(
        """return [...document.querySelectorAll("main *")].filter(
             (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .unseen, ul")
           ).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert too_wide == []


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast_in_light_and_dark(open_page, dark):
    """WCAG's 4.5 to 1, of every text that is on a ground of one colour."""
    driver = open_page(dark=dark)
    for stage in ("naive", "staged", "tape"):
        click(stepper(driver, stage), "last")
        click(stepper(driver, stage), "back")
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    found = driver.execute_script(
        """const ground = (e) => {
             for (; e; e = e.parentElement) {
               const colour = getComputedStyle(e).backgroundColor;
               if (colour !== "rgba(0, 0, 0, 0)") return colour;
             }
           };
           const pairs = new Map();
           for (const e of document.querySelectorAll("body *:not(svg *):not(script):not(style)")) {
             const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
             const colours = `${getComputedStyle(e).color}|${ground(e)}`;
             if (own && e.checkVisibility()) pairs.set(colours, e.outerHTML.slice(0, 80));
           }
           return [...pairs]"""
    )
    grounds = {pair.partition("|")[2] for pair, _ in found}
    assert ("rgb(255, 255, 255)" in grounds) != dark
    low = [(pair, html) for pair, html in found if contrast(*pair.split("|")) < 4.5]
    assert low == []


def contrast(*colours):
    light, dark = sorted((luminance(colour) for colour in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
