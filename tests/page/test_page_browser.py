"""The page in a real browser: headless Chromium reads it as a reader does, by mouse and by keyboard.

The stages that run in the page's script are compared with the Python ones, step by step, on all programs.
"""

import json
import re
import shutil

import pytest

pytest.importorskip("jinja2")

from dualrev import math as dmath
from stages import STAGES, count
from stages.comparison import measure
from stages.comparison.page import DEFAULTS, Shown, sample, words, write, write_relatives
from stages.comparison.page.data import STEPPED, program_data, script
from stages.comparison.page.samples import only
from stages.comparison.steps import walk
from stages.programs import PROGRAMS

pytestmark = pytest.mark.browser

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The page of the paper's programs, with a plot."""
    family = measure.Family("doublings", "sharing", (4, 6, 8))
    growths = list(measure.grow(family, list(STAGES)))
    shown = []
    with pytest.MonkeyPatch.context() as patch:  # times are shown, but do not matter here
        patch.setattr("stages.comparison.measure._best", lambda run, *more, **options: 1e-5)
        for name in DEFAULTS:
            program, sizes = PROGRAMS[name], sample(name)
            primals = sizes.make(sizes.start)
            result = measure.compare(program, primals, sizes.start)
            shown.append(Shown(program.function, primals, result, sizes))
    file = tmp_path_factory.mktemp("page") / "page.html"
    assert write(file, shown, growths) < 1_000_000
    return file.as_uri()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser = next(filter(None, map(shutil.which, names)), None)
    service = shutil.which("chromedriver")
    if browser is None or service is None:
        pytest.skip("no Chromium with chromedriver here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield made
    made.quit()


@pytest.fixture
def open_page(driver, url):
    """Opens the page in a window, in a colour scheme; the logs of the page before are dropped."""

    def opened(width=1280, height=800, dark=False):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
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


def stepper(driver, stage):
    return driver.find_element("css selector", f".stepper[data-stage={stage}]")


def at(root):
    """The step that is shown: the slider, the counter and the data agree on it."""
    k = int(root.get_attribute("data-at"))
    assert root.find_element("css selector", ".slide input").get_property("value") == str(k)
    assert root.find_element("css selector", ".where").text.startswith(f"{k + 1} of ")
    return k


def click(root, where):
    root.find_element("css selector", f"[data-go={where}]").click()


def said(root, machine=0):
    return root.find_elements("css selector", ".say")[machine].text


def counts(root, machine=0):
    """The counts that a stepper shows; those that are 0 are not shown."""
    found = root.parent.execute_script(
        """return [...arguments[0].querySelectorAll(".running")[arguments[1]].querySelectorAll("[data-count]")].map(
             (item) => [item.dataset.count, item.querySelector("b").innerText])""",
        root,
        machine,
    )
    shown = {name: int(number.replace(",", "")) for name, number in found}
    return {name: shown.get(name, 0) for name in words.COUNTS}


def counted(stage, f, *primals):
    return shown_counts(count(stage, f, *primals))


def shown_counts(found):
    return {name: getattr(found, name) for name in words.COUNTS}


def cells(root, name, machine=0):
    """The keys and values of a part of the state."""
    part = root.find_elements("css selector", ".store")[machine]
    return dict(
        root.parent.execute_script(
            """return [...arguments[0].querySelectorAll(`.area[data-name=${arguments[1]}] li`)].map(
                 (cell) => [".key", ".value"].map((part) => cell.querySelector(part).innerText))""",
            part,
            name,
        )
    )


def choose_program(driver, name):
    press(driver.find_elements("css selector", "input[name=program]")[DEFAULTS.index(name)])


def press(element):
    """A click that does not mind the bar on top of the page, below which a reader scrolls what he presses."""
    element.parent.execute_script("arguments[0].click()", element)


def scene(driver, stage, k):
    press(driver.find_elements("css selector", f"#{stage} .scene")[k])


def type_into(field, text):
    keys = pytest.importorskip("selenium.webdriver").Keys
    field.send_keys(keys.CONTROL, "a")
    field.send_keys(text, keys.ENTER)


# ---- the stages of the script are those of the files -----------------------------------------------------------------

SIZES = {
    "fig1": 1,
    "section4": 1,
    "doublings": 4,
    "scaled_doublings": 3,
    "scalar_mult": 3,
    "dot": 4,
    "sum_mat_vec": 2,
    "rotate": 1,
    "neural": 2,
    "expression": 8,
    "compose": 4,
    "wide": 20,
    "deep": 6,
    "newton": 1,
    "loop": 3,
}


MOST = 60  # steps that are compared; counts, calls and gradient are those of the whole run


@pytest.mark.parametrize("name", SIZES)
def test_every_stage_does_in_the_page_what_it_does_in_python(driver, name):
    """Counts, calls, gradient, texts, and every step: what is passed on, the state, and the counts so far."""
    f, primals = PROGRAMS[name].function, PROGRAMS[name].make(SIZES[name], 0)
    rules: dict[str, str] = {}
    (recording,) = program_data(f, only(primals), rules)["recordings"]
    parts, _, _ = script(rules, STEPPED).partition("// Helpers to make parts of the page.")
    compared = """
        for (const one of recording.scalars) { one.args ??= []; one.zeros ??= one.args.map(() => false); }
        const inputs = recording.scalars.slice(0, recording.parameters.flatMap(([, names]) => names).length);
        return stages.map((stage) => {
          const run = runStage(stage, recording, inputs.map(({ value }) => value), [], most);
          const steps = run.steps.map(({ areas, ...step }) => ({
            ...step, areas: areas.map(({ name, kind, cells }) => [name, kind, cells])
          }));
          return { steps, counts: run.counts, calls: run.calls, gradient: run.gradient,
                   texts: run.scalars.map(({ text }) => text) };
        });"""
    found = driver.execute_script(
        f"const [recording, stages, most] = arguments; {parts} {compared}", recording, STEPPED, MOST
    )
    for stage, run in zip(STEPPED, found, strict=True):
        python = walk(stage, f, *primals, most=MOST)
        assert run["counts"] == shown_counts(python.counts) == counted(stage, f, *primals), stage
        assert run["texts"] == [scalar.text for scalar in python.scalars]
        assert run["gradient"] == pytest.approx(python.gradient, rel=1e-12)
        assert [i for i, _ in run["calls"]] == [i for i, _ in python.calls]
        for step, expected in zip(run["steps"], python.steps, strict=True):
            assert (step["kind"], step["id"]) == (expected.kind, expected.id)
            assert step["counts"] == shown_counts(expected.counts)
            assert flat(step["passed"]) == pytest.approx(flat(expected.passed), rel=1e-12)
            assert [area[:2] for area in step["areas"]] == [[area.name, area.kind] for area in expected.areas]
            for (*_, shown), area in zip(step["areas"], expected.areas, strict=True):
                assert flat(shown) == pytest.approx(flat(area.cells), rel=1e-12)


def flat(pairs):
    return [float(x) for pair in pairs for x in pair]


# ---- a reader's path -------------------------------------------------------------------------------------------------


def test_a_reader_s_path(open_page, url):
    """Type an input, step, call in the wrong order, see the second call, move a slider, put two stages in lockstep."""
    driver = open_page()
    root = stepper(driver, "staged")

    type_into(root.find_element("css selector", "input[type=text]"), "4")
    click(root, "last")
    assert said(root) == "Done. The cotangent of the input: 10 for x and 4 for y."  # at (4, 2): 2x + y and x
    assert said(stepper(driver, "tape")).startswith("Forward: v0 = x = 4")  # the other steppers follow

    scene(driver, "staged", 1)
    assert cells(root, "m") == {"d1": "1", "d2": "2"}
    early, late = root.find_elements("css selector", ".store button")
    assert [early.accessible_name, late.accessible_name] == ["call d1 with 1", "call d2 with 2, the next one"]
    early.click()
    assert said(root) == (
        "Reverse: d1 is called with 1, although d2 still waits. If more comes for d1, it has to be called again. "
        "Its own calls are delayed: d0 with 2 and d0 with 3."
    )
    click(root, "on")
    click(root, "on")
    assert said(root).startswith(
        "Reverse: d1 is called with 8, for the 2nd time. The call before came too early: this came after it."
    )
    assert "again" in root.find_element("css selector", ".say").get_attribute("class")
    (again,) = root.find_elements("css selector", ".node.again")
    assert again.get_attribute("data-id") == "1"
    assert again.find_element("css selector", ".times").text == "2 of 2 calls"
    click(root, "last")
    assert said(root) == (
        "Done. The cotangent of the input: 55 for x1. It took 5 calls; from the highest id down it takes 4."
    )

    slider(driver, "#growing-staged input", 9)
    rows = [row.text.split("\n") for row in driver.find_elements("css selector", "#growing-staged .tallied")]
    assert rows == [["naive", "2,047", "= 2ⁿ⁺¹ - 1"], ["staged", "11", "= n + 1"]]

    scene(driver, "staged", 0)
    titles = [title.text for title in root.find_elements("css selector", "h4")]
    assert titles == ["staged", "naive"]
    for _ in range(5):
        click(root, "on")
    assert [said(root, k).partition(".")[0] for k in (0, 1)] == [
        "Reverse: 0 is the highest id left, so all calls of d0 are in",
        "Reverse: d0 is called with 1",
    ]
    click(root, "last")
    doublings = PROGRAMS["doublings"].function
    for k, stage in enumerate(titles):
        assert counts(root, k) == counted(stage, doublings, 1.0, 4)

    assert driver.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert {request for request in requests if not request.startswith("data:")} == {url}


def slider(driver, selector, value):
    driver.execute_script(
        """const slide = document.querySelector(arguments[0]);
           slide.value = arguments[1];
           slide.dispatchEvent(new Event("input"))""",
        selector,
        value,
    )


def test_the_whole_path_by_keyboard_alone(open_page):
    webdriver = pytest.importorskip("selenium.webdriver")
    keys, driver = webdriver.Keys, open_page()
    root = stepper(driver, "staged")

    def press(*pressed):
        webdriver.ActionChains(driver).send_keys(*pressed).perform()

    def focused():
        return driver.switch_to.active_element

    driver.execute_script("document.querySelector('#naive details.diff summary').focus()")
    press(keys.TAB, keys.TAB, keys.TAB)  # past the scenes of staged, to its stepper
    while focused() != root:
        press(keys.TAB)
    outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    for key, k in ((keys.ARROW_RIGHT, 1), (keys.ARROW_RIGHT, 2), (keys.ARROW_LEFT, 1), (keys.END, 9), (keys.HOME, 0)):
        press(key)
        assert at(root) == k
    press(keys.TAB)
    assert focused().get_attribute("data-go") == "first"
    press(keys.TAB, keys.TAB, keys.ENTER)
    assert at(root) == 1
    press(keys.TAB, keys.TAB)
    assert focused().accessible_name == "▶ play"
    press(keys.TAB)
    assert focused().accessible_name == "step"
    press(keys.ARROW_RIGHT)
    assert at(root) == 2  # once, not twice
    press(keys.TAB, keys.TAB, keys.SPACE)  # past the choice of a stage beside, to the reader's own order
    assert focused().accessible_name == "I choose the next call"
    assert said(root).startswith("Reverse: the pullback gets the cotangent 1.")
    press(keys.ARROW_RIGHT)
    while focused().accessible_name != "call d0 with 5":
        press(keys.TAB)
    press(keys.ENTER)
    assert said(root).startswith("Reverse: d0 is called with 5, although d2 still waits.")
    assert focused().accessible_name == "call d2 with 3, the next one"  # what was pressed is gone: not lost
    press(keys.ENTER, keys.END)
    assert said(root).endswith("It took 5 calls; from the highest id down it takes 4.")


def test_a_stage_plays_by_itself_until_its_end_or_until_a_reader_steps(open_page):
    driver = open_page()
    driver.execute_script("window.setInterval = (act) => { window.tick = act; return 1; };")
    root = stepper(driver, "naive")
    play = root.find_element("css selector", "button.play")
    play.click()
    assert play.text == "❚❚ pause"
    driver.execute_script("tick()")
    driver.execute_script("tick()")
    assert at(root) == 2
    click(root, "back")
    assert (at(root), play.text) == (1, "▶ play")
    play.click()
    driver.execute_script("for (let k = 0; k < 20; k++) tick()")
    assert said(root).startswith("Done.")
    assert play.text == "▶ play"
    play.click()
    assert at(root) == 0  # from its end, from the start


def test_the_choice_of_calls_says_what_to_do(open_page):
    root = stepper(open_page(), "staged")
    click(root, "last")
    root.find_element("css selector", "input[type=checkbox]").click()
    advice = root.find_element("css selector", ".advice")
    assert advice.text == "All calls are made: step back, and press one that waits."
    click(root, "back")
    click(root, "back")
    assert advice.text == "Press a call in the store."


def test_choices_are_undone_by_going_back_and_by_a_button(open_page):
    driver = open_page()
    root = stepper(driver, "sparse")
    root.find_element("css selector", "input[type=checkbox]").click()
    click(root, "on")
    root.find_elements("css selector", ".store button")[0].click()
    assert root.find_element("css selector", ".where").text == "7 of 11"
    click(root, "back")
    root.find_elements("css selector", ".store button")[1].click()  # the stage's own choice
    assert root.find_element("css selector", ".where").text == "7 of 10"
    (own,) = [b for b in root.find_elements("css selector", "button") if b.text == "the stage's own order again"]
    own.click()
    assert not own.is_displayed()
    assert at(root) == 4
    click(root, "last")
    assert counts(root) == counted("sparse", PROGRAMS["fig1"].function, 3.0, 2.0)


def test_every_order_gives_the_same_gradient_and_the_highest_id_first_the_fewest_calls(open_page):
    found = open_page().execute_script(
        """const recording = programs[2].recordings[0];  // section4
           const orders = [[3, 2, 1, 0], [3, 1, 2, 1], [3, 1, 0, 2], [3, 1, 2, 0], [3, 1, 0, 2, 0]];
           return orders.map((order) => {
             const run = runStage("staged", recording, [1], order);
             return [run.gradient[0], run.calls.length];
           });"""
    )
    assert found == [[55, 4], [55, 5], [55, 6], [55, 6], [55, 7]]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2 x", "“x” is not a number: write 0.5 or -2"),
        ("1, 2", "1 number needed, and 2 there"),
        ("", "1 number needed, and 0 there"),
    ],
)
def test_what_is_no_number_is_refused_and_said(open_page, text, error):
    root = stepper(open_page(), "naive")
    x = root.find_element("css selector", "input[type=text]")
    type_into(x, text or " ")
    assert x.get_attribute("aria-invalid") == "true"
    described = root.find_element("id", x.get_attribute("aria-describedby"))
    assert (described.get_attribute("role"), described.text) == ("alert", error)
    type_into(x, "-.5e1")
    assert (x.get_attribute("aria-invalid"), described.text, x.get_property("value")) == (None, "", "-5")
    click(root, "last")
    assert said(root) == "Done. The cotangent of the input: -8 for x and -5 for y."


def test_inputs_sizes_and_the_way_back_to_the_first_ones(open_page):
    driver = open_page()
    choose_program(driver, "wide")
    root = stepper(driver, "arrays")
    field = root.find_element("css selector", "textarea")
    assert field.get_property("value") == ", ".join(str(k) for k in range(1, 17))
    type_into(field, " ".join(["0.5"] * 16))
    click(root, "last")
    assert set(cells(root, "c").values()) == {"0.5", "0"}
    driver.execute_script("arguments[0].scrollIntoView()", root)
    slide = root.find_element("css selector", ".size input")
    assert slide.get_attribute("aria-valuetext") == "16 scalars"
    driver.execute_script("arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input'))", slide)
    assert slide.get_attribute("aria-valuetext") == "6 scalars"  # it is the same slider: a reader may hold it
    field = root.find_element("css selector", "textarea")
    assert field.get_property("value") == "1, 2, 3, 4, 5, 6"
    driver.execute_script("arguments[0].value = 3; arguments[0].dispatchEvent(new Event('input'))", slide)
    assert root.find_element("css selector", "textarea").get_property("value").startswith("0.5, 0.5")
    press(next(b for b in root.find_elements("css selector", "button") if b.text == "first inputs again"))
    assert root.find_element("css selector", "textarea").get_property("value").startswith("1, 2")
    driver.execute_script("arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input'))", slide)
    click(root, "last")
    assert counts(root) == counted("arrays", PROGRAMS["wide"].function, *sample("wide").make(6))


# ---- the stepper -----------------------------------------------------------------------------------------------------


def test_buttons_step_forwards_and_backwards(open_page):
    root = stepper(open_page(), "staged")
    assert at(root) == 0
    assert said(root).startswith("Forward: v0 = x = 3")
    for k in range(1, 6):
        click(root, "on")
        assert at(root) == k
        if k == 3:
            assert said(root) == (
                "Forward: v3 = v0 · v2 = 15, the result of an operation, draws the id 3; "
                "d3 = λz. SCall d0 (5·z) + SCall d2 (3·z)."
            )
    assert said(root).startswith("Reverse: 3 is the highest id left")
    assert cells(root, "m") == {"d0": "5", "d2": "3"}
    new = root.parent.execute_script(
        "return [...arguments[0].querySelectorAll('.area li.new')].map((e) => e.dataset.key)", root
    )
    assert new == ["0", "2"]
    click(root, "on")
    assert cells(root, "m") == {"d0": "8", "d1": "3"}
    click(root, "back")
    assert cells(root, "m") == {"d0": "5", "d2": "3"}
    click(root, "last")
    assert said(root) == "Done. The cotangent of the input: 8 for x and 3 for y."
    last = at(root)
    click(root, "on")
    assert at(root) == last
    click(root, "first")
    click(root, "back")
    assert at(root) == 0


def test_what_happens_is_announced_and_everything_has_a_name(open_page):
    driver = open_page()
    root = stepper(driver, "tape")
    say = root.find_element("css selector", ".say")
    assert (say.get_attribute("role"), say.get_attribute("aria-live")) == ("status", "polite")
    assert root.get_attribute("aria-label") == "tape on fig1, step by step"
    labels = [button.accessible_name for button in root.find_elements("css selector", "button[data-go]")]
    assert labels == ["first step", "one step back", "one step forward", "last step"]
    unnamed = driver.execute_script(
        """return [...document.querySelectorAll("button, input, select, textarea, [role=region], [role=group], svg")]
             .filter((e) => !e.closest("[aria-hidden=true]") && !e.labels?.length && !e.textContent.trim()
               && !e.hasAttribute("aria-label") && !e.hasAttribute("aria-labelledby"))
             .map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert unnamed == []


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_counts_shown_at_the_end_are_those_of_count(open_page, name):
    driver = open_page()
    choose_program(driver, name)
    f, primals = PROGRAMS[name].function, sample(name).make(sample(name).start)
    for stage in STEPPED:
        root = stepper(driver, stage)
        driver.execute_script("arguments[0].querySelector('[data-go=last]').click()", root)
        expected = counted(stage, f, *primals)
        assert counts(root) == expected
        row = driver.find_elements("css selector", f"#program tr[data-stage={stage}]")[DEFAULTS.index(name)]
        shown = driver.execute_script("return [...arguments[0].querySelectorAll('td')].map((e) => e.innerText)", row)
        assert shown[: len(expected)] == [f"{n:,}" if n else "-" for n in expected.values()]


def test_the_drawing_counts_the_calls_as_they_are_made(open_page):
    driver = open_page()
    choose_program(driver, "doublings")
    root = stepper(driver, "naive")
    times = [node.find_element("css selector", ".times") for node in root.find_elements("css selector", ".node")]
    assert [text.text for text in times] == ["0 of 16", "0 of 8 calls", "0 of 4 calls", "0 of 2 calls", "0 of 1 call"]
    for _ in range(6):
        click(root, "on")
    assert [text.text for text in times][-1] == "1 of 1 call"
    click(root, "last")
    assert [text.text for text in times] == ["16 of 16", "8 of 8 calls", "4 of 4 calls", "2 of 2 calls", "1 of 1 call"]


def test_the_line_of_the_program_is_marked_forwards_and_backwards(open_page):
    root = stepper(open_page(), "cayley")
    marked = []
    for _ in range(10):
        marked += [line.text.strip() for line in root.find_elements("css selector", "code.now")]
        click(root, "on")
    assert marked == ["z = x + y", "return x * z", "return x * z", "z = x + y"]


def test_what_a_step_touches_tells_the_stages_apart(open_page):
    """On wide all of a cotangent, or one number; on deep the way through pairs, or one element."""
    driver = open_page()
    touched = {}
    for program, stages in (("wide", ("staged", "cayley")), ("deep", ("cayley", "sparse", "arrays"))):
        choose_program(driver, program)
        for stage in stages:
            root = stepper(driver, stage)
            found = driver.execute_script(
                """const stepper = steppers.get(arguments[0]);
                   const { steps, result } = stepper.machines[0];
                   const at = (step) => step.kind === "call" && result.scalars[step.id].kind === "input";
                   const deepest = arguments[1] === "deep" ? 5 : 3;
                   stepper.go(steps.findIndex((step) => at(step) && step.id === deepest));
                   const area = stepper.root.querySelector(".area[data-name=c]");
                   return [area.querySelectorAll("li.touched").length, area.querySelectorAll("circle.hot").length];""",
                stage,
                program,
            )
            touched[program, stage] = tuple(found)
            assert cells(root, "c")
    assert touched["wide", "staged"] == (16, 15)
    assert touched["wide", "cayley"] == (1, 4)
    assert touched["deep", "cayley"] == (1, 6)  # the last of six cells: one of the two deepest numbers
    assert touched["deep", "sparse"][0] in (2, 3, 4)
    assert touched["deep", "arrays"] == (1, 0)


def test_outputs_of_several_numbers_and_infinities_are_said(driver, tmp_path):
    def two(x):
        return [x * x, dmath.sqrt(x)]

    program = PROGRAMS["fig1"]
    result = measure.compare(program, (3.0, 2.0), 1, ["naive", "tape"])
    file = tmp_path / "two.html"
    write(file, [Shown(two, (0.0,), result)])
    driver.get(file.as_uri())
    root = stepper(driver, "tape")
    for _ in range(3):
        click(root, "on")
    assert said(root).startswith("Reverse: the pullback gets the cotangent 1 for each of the 2 numbers of the output.")
    click(root, "last")
    assert said(root) == "Done. The cotangent of the input: ∞ for x."


def test_a_program_that_compares_is_shown_for_its_inputs_only(driver, tmp_path):
    program, primals = PROGRAMS["loop"], PROGRAMS["loop"].make(2, 0)
    result = measure.compare(program, primals, 2, ["staged", "tape"])
    file = tmp_path / "loop.html"
    write(file, [Shown(program.function, primals, result)])
    driver.get(file.as_uri())
    root = stepper(driver, "staged")
    assert root.find_element("css selector", "input[type=text]").get_attribute("readonly")
    assert "may take another way" in root.text
    click(root, "last")
    assert counts(root) == counted("staged", program.function, *primals)


def test_the_page_of_a_program_that_is_too_long_says_so(driver, tmp_path):
    program, primals = PROGRAMS["dot"], PROGRAMS["dot"].make(301, 0)
    result = measure.compare(program, primals, 301, ["tape"])
    file = tmp_path / "long.html"
    write(file, [Shown(program.function, primals, result)])
    driver.get_log("browser")
    driver.get(file.as_uri())
    root = stepper(driver, "tape")
    assert root.text.endswith("No steps: the program does more than 600 operations.")
    assert not root.find_element("css selector", "[data-go=on]").is_displayed()
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_the_neighbours_shows_one_program_at_a_time(driver, tmp_path, width):
    shown = []
    for name, primals in (("fig1", (3.0, 2.0)), ("section4", (1.0,))):
        program = PROGRAMS[name]
        result = measure.compare(program, primals, 1, ["delta", "vlad", "cps", "tape"])
        shown.append(Shown(program.function, primals, result))
    family = measure.Family("doublings", "sharing", (2, 3, 4))
    file = tmp_path / "neighbours.html"
    write_relatives(file, shown, list(measure.grow(family, ["delta", "vlad", "cps", "tape"])))
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    driver.get_log("browser")
    driver.get(file.as_uri())
    for k, text in ((1, "On section4: "), (0, "On fig1: ")):
        press(driver.find_elements("css selector", "input[name=program]")[k])
        tallies = [tally.text for tally in driver.find_elements("css selector", ".tally") if tally.is_displayed()]
        assert len(tallies) == 4
        assert all(tally.startswith(text.strip()) for tally in tallies)
    assert "refused" in tallies[2]
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.get_log("browser") == []


# ---- how it looks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "k"), [("naive", 0), ("staged", 0), ("staged", 1), ("cayley", 0), ("sparse", 0)])
def test_program_graph_and_store_are_in_one_view_on_a_laptop(open_page, stage, k):
    """At 1280 by 800, a scene shows all of its stepper below the bar, and the step can be pressed there."""
    driver = open_page()
    scene(driver, stage, k)
    click(stepper(driver, stage), "back")
    parts = driver.execute_script(
        """const box = (e) => { const { top, bottom, left, right } = e.getBoundingClientRect();
             return [e.className, top, bottom, left, right]; };
           const root = document.querySelector(`.stepper[data-stage=${arguments[0]}]`);
           const bar = document.querySelector("nav.bar").getBoundingClientRect().bottom;
           const parts = [...root.querySelectorAll(".controls, .source, .inputs, .say, .drawn, .store, .running")];
           return [bar, innerWidth, innerHeight, parts.map(box)]""",
        stage,
    )
    bar, width, height, boxes = parts
    assert len(boxes) >= 7
    for name, top, bottom, left, right in boxes:
        assert top >= bar, name
        assert bottom <= height, name
        assert left >= 0, name
        assert right <= width, name


@pytest.mark.parametrize(("width", "program"), [(320, 0), (390, 4), (1280, 4), (1920, 1)])
def test_the_page_does_not_scroll_sideways(open_page, width, program):
    driver = open_page(width)
    driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    choose_program(driver, DEFAULTS[program])
    driver.execute_script("steppers.get('staged').pair('naive')")
    for where in ("first", "last"):
        driver.execute_script(
            "for (const b of document.querySelectorAll(`[data-go=${arguments[0]}]`)) b.click()", where
        )
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    too_wide = driver.execute_script(
        """return [...document.querySelectorAll("main *")].filter(
             (e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .unseen, ul, .sideways")
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
    scene(driver, "staged", 1)
    driver.execute_script("document.querySelector('.store button').click()")
    type_into(stepper(driver, "tape").find_element("css selector", "input[type=text]"), "x")
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
