"""Opens reports of the tool, and the page about the papers, in Chromium through chromedriver, and checks what a reader can do
with them.

In: the path of the tool, and optionally a folder for screenshots. Out: a line for each check; the status is 1 if one fails.
It uses the WebDriver protocol over HTTP and the standard library only.
"""

import base64
import functools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import typing
import urllib.request
import zlib

MANY = 100_000
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"enter": "\ue007", "tab": "\ue004", "space": " ", "end": "\ue010"}
# How long a click or a search may take with many groups, on a busy machine.
PATIENCE_SECONDS = 5
# The checks that failed.
FAILED = []


class Browser:
    """A session of Chromium."""

    def __init__(self, folder):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        self.address = None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.address = f"http://127.0.0.1:{found[1]}"
                break
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-dev-shm-usage", "--window-size=1280,1000", f"--user-data-dir={folder}"]
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                  "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:500]) from None

    def post(self, path, body):
        return self.call("POST", self.session + path, body)

    def open(self, path, scripts=True):
        self.post("/url", {"url": "file://" + path})
        if scripts:
            wait(lambda: self.run("return document.documentElement.dataset.ready") == "yes", "the page is ready", 60)

    def run(self, script, *arguments):
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.post(f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.post(f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        strokes = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def size(self, width, height):
        self.post("/window/rect", {"width": width, "height": height})

    def theme(self, name):
        self.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": name}]}})

    def errors(self):
        return self.post("/se/log", {"type": "browser"})

    def picture(self):
        return base64.b64decode(self.call("GET", self.session + "/screenshot"))

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()


def wait(condition, what, seconds=PATIENCE_SECONDS):
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.02)


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    FAILED.extend([] if holds else [what])


@functools.lru_cache(maxsize=2)
def pixels(png):
    """Width, height and the rows of an 8-bit PNG, as bytes, and the bytes of a pixel."""
    at, data, head = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        chunk = png[at + 8:at + 8 + length]
        head = struct.unpack(">IIBBBBB", chunk) if kind == b"IHDR" else head
        data += chunk if kind == b"IDAT" else b""
        at += length + 12
    width, height, channels = head[0], head[1], {2: 3, 6: 4}[head[3]]
    raw, stride, rows, before = zlib.decompress(data), width * channels, [], bytes(width * channels)
    for y in range(height):
        start = y * (stride + 1)
        row = bytearray(raw[start + 1:start + 1 + stride])
        for x in range(stride):
            left = row[x - channels] if x >= channels else 0
            corner = before[x - channels] if x >= channels else 0
            up = before[x]
            near = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            row[x] = (row[x] + (0, left, up, (left + up) // 2, near)[raw[start]]) & 255
        rows.append(bytes(row))
        before = row
    return width, height, rows, channels


def brightness(png):
    """The share of bright pixels in a picture, from a sample."""
    width, height, rows, channels = pixels(png)
    sample = [sum(rows[y][x * channels:x * channels + 3]) > 384 for y in range(0, height, 7) for x in range(0, width, 7)]
    return sum(sample) / len(sample)


def painted(png, colour):
    """How many pixels of a picture have a colour of the style sheet, such as `#dcf3e1`."""
    wanted = bytes.fromhex(colour[1:])
    width, _, rows, channels = pixels(png)
    return sum(row[x * channels:x * channels + 3] == wanted for row in rows for x in range(width))


def check_colours(browser, png, theme):
    """The parts that matter are in the picture: bars, the curve's threshold, and the changed words of a difference."""
    colours = browser.run("""const style = getComputedStyle(document.documentElement);
        return ['--accent', '--threshold', '--new'].map((name) => style.getPropertyValue(name).trim());""")
    for part, colour, least in zip(("bars", "the threshold", "changed words"), colours, (5000, 20, 1000)):
        found = painted(png, colour)
        check(found >= least, f"the {theme} picture shows {part} ({found} pixels)")


def words(seed, count=300):
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(65536)}" for _ in range(count))


def ringer(tool, folder, *arguments):
    subprocess.run([tool, *arguments, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=2>"
HOSTILE_NAME = "in/<img src=x onerror=window.hurt=3>"


class Report(typing.NamedTuple):
    """The reports of one command, about the same data as those of the other commands."""
    command: str
    # A page with ten groups of files, and one with many groups of sets.
    few: str
    many: str
    # What the page calls two groups, and the number that they are filtered by.
    things: str
    size: str
    # Whether the page marks members with the same bytes as the first one. A page about queries has no such marks: a match is a
    # stored set, and what it is compared with need not be a file.
    marks_identical: bool


def reports(tool, folder):
    """The reports of all commands that write some. Each shows ten groups of three files (the first one of four) with hostile
    names and texts, and many groups of two sets."""
    os.mkdir(folder + "/in")
    for i in range(10):
        text = words(i)
        for name, more in (("a", ""), ("b", " CHANGED"), ("c", f" {HOSTILE} {words(50 + i, 10)}")):
            with open(f"{folder}/in/{i}-{name}.txt", "w", encoding="utf-8") as file:
                file.write(text + more)
    with open(f"{folder}/{HOSTILE_NAME}", "w", encoding="utf-8") as file:
        file.write(words(0))
    with open(folder + "/sets", "w", encoding="utf-8") as sets, open(folder + "/rows", "w", encoding="utf-8") as rows, \
            open(folder + "/asked", "w", encoding="utf-8") as asked:
        for i in range(2 * MANY):
            key, elements = f"key{i:06}", f"x{i // 2} y{i // 2} z{i // 2}"
            sets.write(f"{key}\t{elements}\n")
            rows.write(f'{{"id": "{key}", "text": "{elements}"}}\n')
            asked.write("" if i % 2 else f"{key}\t{elements}\n")

    def run(command, *arguments):
        ringer(tool, folder, command, *arguments)

    run("create", "files.ringer", "--seed", "1")
    run("add", "files.ringer", "in")
    run("create", "sets.ringer", "--features", "tokens", "--seed", "1")
    run("add", "sets.ringer", "--sets", "sets")
    few = ("--min", "0.8", "--report")
    many = ("--min", "0.9", "--output", "found", "--report")
    made = [Report(command, *(f"{folder}/{command}-{many}.html" for many in ("few", "many")), *rest)
            for command, *rest in (("dedup", "groups", "size", True), ("clusters", "groups", "size", True),
                                   ("query", "queries", "matches", False))]
    dedup, clusters, query = made
    run("dedup", "in", "--seed", "1", *few, dedup.few)
    run("dedup", "--jsonl", "rows", "--features", "tokens", "--seed", "1", "--min", "0.9", "--out", "kept", "--report",
        dedup.many)
    run("clusters", "files.ringer", "--verify-files", *few, clusters.few)
    run("clusters", "sets.ringer", *many, clusters.many)
    asked = [argument for i in range(10) for argument in ("--file", f"in/{i}-a.txt" if i else HOSTILE_NAME)]
    run("query", "files.ringer", *asked, "--verify-files", *few, query.few)
    run("query", "sets.ringer", "--sets", "asked", *many, query.many)
    return made


def unmatched(tool, folder):
    """A report about queries without a threshold, of which one has no match. Only queries can have neither."""
    with open(folder + "/new.txt", "w", encoding="utf-8") as file:
        file.write(words(999))
    ringer(tool, folder, "query", "files.ringer", "--file", "in/0-a.txt", "--file", "new.txt", "--verify-files",
           "--report", "unmatched.html")
    return folder + "/unmatched.html"


def shown_sizes(browser):
    """The sizes of the groups on this page of the list, in their order."""
    return browser.run("""return [...document.querySelectorAll('.row summary .size')].map((size) => parseInt(size.innerText));""")


def shown_values(browser):
    """The lowest similarities of the groups on this page of the list, in their order."""
    return browser.run("""return [...document.querySelectorAll('.row summary .value')].map((one) => Number(one.innerText));""")


def choose_order(browser, name):
    browser.run("""const order = document.querySelector('#order'); order.value = arguments[0];
        order.dispatchEvent(new Event('input'))""", name)


def look_at_few(browser, report, save):
    browser.theme("light")
    browser.open(report.few)
    check(browser.text("h1") == f"ringer {report.command}", "the title names the command")
    check(browser.count(".row") == 10 and "1 to 10 of 10" in browser.text("#count"), f"ten {report.things} are listed")
    check(browser.text("#all-title") == f"All {report.things}", "the list says what it lists")
    check(browser.count("#charts svg") == 3, "there are three charts")
    check(not browser.run("return document.querySelector('#pages').offsetParent"), "one page needs no buttons")
    check(browser.count("#doubtful .card") == 10 and browser.count("#largest .card") == 10, "groups have differences")
    check(browser.count("#doubtful .card[open] ins, #doubtful .card[open] del") > 0, "the first difference is open")
    browser.click("#largest .card:nth-of-type(2) summary")
    wait(lambda: browser.count("#largest .card:nth-of-type(2)[open] .diff") == 1, "a click opens a difference")
    browser.click("#rows .row summary")
    wait(lambda: browser.count("#rows .row[open] td.key") >= 3, "a click opens a group")
    marks = browser.count("#rows .row[open] .tag")
    check(marks >= 1 if report.marks_identical else marks == 0, "identical files are marked where there are files only")
    every = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    browser.run(every)
    wait(lambda: browser.count(".card[open] .diff") == 20, "all differences open")
    shown = browser.text("main")
    check("onerror" in shown and "window.hurt=1" in shown and HOSTILE_NAME in shown, "hostile text is shown as text")
    check(browser.run("return window.hurt") is None and browser.count("main img, main script") == 0, "and does nothing")
    refused = browser.run("""const made = document.createElement('script'); made.textContent = 'window.hurt = 4';
                             document.body.append(made); return window.hurt ?? null;""")
    check(refused is None, "the policy of the page refuses other scripts")
    messages = [entry["message"] for entry in browser.errors() if "Content Security Policy" not in entry["message"]]
    check(messages == [], f"the console has no errors {messages}")
    filter_few(browser, report)
    browser.open(report.few)
    light = browser.picture()
    save(f"{report.command}-light", light)
    check(brightness(light) > 0.8, "the light theme is light")
    check_colours(browser, light, "light")
    browser.click("#theme")
    check(browser.run("return document.documentElement.dataset.theme") == "dark", "the button changes the theme")
    dark = browser.picture()
    save(f"{report.command}-dark", dark)
    check(brightness(dark) < 0.2, "the dark theme is dark")
    check_colours(browser, dark, "dark")
    browser.theme("dark")
    browser.open(report.few)
    check(brightness(browser.picture()) < 0.2, "the page follows the theme of the system")
    check(browser.run("return document.querySelector('#theme').getAttribute('aria-pressed')") == "true", "and says so")
    browser.theme("light")
    for width in (1280, 480):
        browser.size(width, 1000)
        browser.open(report.few)
        wide = browser.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
        check(not wide, f"nothing is cut off in a window of {width} pixels")
    save(f"{report.command}-narrow", browser.picture())
    browser.run("document.querySelector('#doubtful').scrollIntoView()")
    save(f"{report.command}-narrow-difference", browser.picture())
    browser.size(1280, 1000)


def filter_few(browser, report):
    """The filters and orders of the list. The group with four files is the only one of its size."""
    browser.open(report.few)
    check(f"Least {report.size}" in browser.text("#filters"), "the filter is named after what it counts")
    browser.type("#least", "4")
    wait(lambda: shown_sizes(browser) == [4], "the size filters")
    check("filtered from 10" in browser.text("#count"), "the list says that it is filtered")
    browser.click("button[type=reset]")
    wait(lambda: browser.count(".row") == 10, "the filter can be cleared")
    found = shown_values(browser)
    choose_order(browser, "low")
    check(shown_values(browser) == sorted(found), "the least similar come first")
    choose_order(browser, "high")
    check(shown_values(browser) == sorted(found, reverse=True), "the most similar come first")
    choose_order(browser, "size")
    check(shown_sizes(browser) == [4] + 9 * [3], "the largest come first")
    limit = sorted(found)[4]
    browser.type("#below", str(limit))
    wait(lambda: sorted(shown_values(browser)) == [value for value in sorted(found) if value <= limit], "the similarity filters")
    browser.click("button[type=reset]")
    browser.type("#search", "ONERROR")
    wait(lambda: browser.count(".row") == 1, "the search ignores case, and finds hostile names")


def use_the_keyboard(browser, report):
    browser.open(report.few)
    browser.press("tab")
    check(browser.run("return document.activeElement.className") == "skip", "the first tab leads to the link to the list")
    check(browser.text(".skip") == f"Skip to the list of {report.things}", "the link says so")
    browser.press("enter")
    wait(lambda: browser.run("return document.activeElement.id") == "all", "the link leads to the list")
    browser.press("tab")
    check(browser.run("return document.activeElement.id") == "search", "the next tab leads to the search")
    browser.press(*"3-b")
    wait(lambda: browser.count(".row") == 1, "typing filters")
    browser.run("document.querySelector('.row summary').focus()")
    browser.press("enter")
    wait(lambda: browser.count(".row[open] td.key") >= 3, "enter opens a group")
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    check(outline != "none", "the focus is visible")
    unnamed = browser.run("""return [...document.querySelectorAll('button, input, select, svg')].filter((one) =>
        !(one.innerText || one.labels?.length || one.getAttribute('aria-label'))).length""")
    check(unnamed == 0, "every control and chart has a name")


def look_at_many(browser, report, save):
    start = time.monotonic()
    browser.open(report.many)
    print(f"        {MANY} {report.things} were ready after {time.monotonic() - start:.1f} s")
    check(browser.count(".row") == 25 and browser.count("*") < 3000, f"only one page of {report.things} is in the document")
    check("1 to 25 of 100,000" in browser.text("#count"), f"all {report.things} are counted")
    first = browser.text(".row")
    for button, shown in (("next", "26 to 50"), ("last", "99,976 to 100,000"), ("previous", "99,951 to 99,975"), ("first", "1 to 25 ")):
        browser.click("#" + button)
        wait(lambda: shown in browser.text("#count"), f"the button {button} turns pages")
    check(browser.text(".row") == first, "the first page is the same again")
    browser.run("const page = document.querySelector('#page'); page.value = 2000; page.dispatchEvent(new Event('change'))")
    wait(lambda: "49,976 to 50,000" in browser.text("#count"), "a page can be chosen by its number")
    browser.type("#search", "key012345")
    wait(lambda: browser.count(".row") == 1, "the search finds one of many groups")
    check("key012344" in browser.text(".row"), "it finds members that are not the first")
    browser.click("button[type=reset]")
    wait(lambda: "1 to 25 of 100,000" in browser.text("#count"), "the filter can be cleared")
    browser.type("#least", "3")
    wait(lambda: "Nothing to show" in browser.text("#count"), f"{report.things} are filtered by their size")
    browser.click("button[type=reset]")
    choose_order(browser, "size")
    wait(lambda: browser.count(".row") == 25, f"{report.things} can be sorted")
    save(f"{report.command}-many", browser.picture())
    browser.run("document.querySelector('#all').scrollIntoView()")
    save(f"{report.command}-many-list", browser.picture())
    check(browser.errors() == [], "the console has no errors")


def look_at_unmatched(browser, page, save):
    browser.open(page)
    check(browser.count(".row") == 2 and "0 matches" in browser.text("#rows"), "a query without a match is listed, too")
    check(browser.count("#largest .card") == 1, "the query with matches has a difference")
    check(not browser.run("return document.querySelector('#doubtful').offsetParent"), "without a threshold nothing is doubtful")
    save("query-unmatched", browser.picture())


# What is wrong with the figures of a page: an axis without title or ticks, colours without a legend, text that is cut off.
FIGURES = """return [...document.querySelectorAll('figure')].flatMap((figure) => {
    const svg = figure.querySelector('svg'), box = svg.viewBox.baseVal, bottom = 270, wrong = [];
    const texts = [...svg.querySelectorAll('text')], height = (text) => Number(text.getAttribute('y'));
    const turned = texts.filter((text) => text.getAttribute('transform'));
    const legend = texts.filter((text) => height(text) > bottom);
    const colours = new Set([...svg.querySelectorAll('circle, .line')].map((mark) => mark.getAttribute('class').match(/s[0-6]/)[0]));
    if (turned.length !== 1 || !turned[0].textContent.trim()) wrong.push('no title of the y axis');
    if (!texts.some((text) => height(text) === bottom - 6 && text.textContent.trim())) wrong.push('no title of the x axis');
    if (svg.querySelectorAll('.grid').length < 4) wrong.push('too few ticks');
    if (legend.length !== colours.size) wrong.push(`${colours.size} colours, ${legend.length} in the legend`);
    for (const text of texts.filter((text) => !text.getAttribute('transform'))) {
        const at = text.getBBox();
        if (at.x < -1 || at.x + at.width > box.width + 1) wrong.push(`cut off: ${text.textContent}`);
    }
    if (!figure.querySelector('figcaption b').textContent) wrong.push('no title');
    return wrong.map((what) => `${svg.getAttribute('aria-label')}: ${what}`);
});"""


def look_at_papers(browser, page, save):
    """The page about the papers: its figures in both themes, on a narrow screen."""
    browser.open(page, scripts=False)
    check(browser.count("figure") > 20 and browser.count("tbody tr") > 10, "the papers have figures and rows")
    for name, bright in (("light", True), ("dark", False)):
        browser.theme(name)
        browser.run("document.querySelector('.figures').scrollIntoView()")
        png = browser.picture()
        save(f"papers-{name}", png)
        check((brightness(png) > 0.5) == bright, f"the papers are {name}")
        colours = browser.run("""const style = getComputedStyle(document.documentElement);
            return ['--c0', '--c1'].map((name) => style.getPropertyValue(name).trim());""")
        found = [painted(png, colour) for colour in colours]
        check(min(found) >= 50, f"the {name} picture shows two series ({found} pixels)")
        wrong = browser.run(FIGURES)
        check(not wrong, f"figures of the papers have axes and legends {'; '.join(wrong[:3])}")
    print_papers(browser, save)
    browser.theme("light")
    browser.size(420, 900)
    check(browser.run("return document.documentElement.scrollWidth <= innerWidth"), "the papers fit a narrow screen")
    browser.size(1280, 1000)
    check(not browser.errors(), "the papers load without errors")


def pages_of_figures(pdf):
    """The pages on which each figure of a PDF is, with its caption, from the structure tree that Chromium writes."""
    elements = dict(re.findall(rb"(\d+) 0 obj\n<</Type /StructElem\n(.*?)\nendobj", pdf, re.DOTALL))

    def pages(text):
        inner = re.sub(rb"/Type /MCR.*?>>", b"", text[text.index(b"/K"):], flags=re.DOTALL)
        own = set(re.findall(rb"/Pg (\d+) 0 R", text))
        return own.union(*(pages(elements[child]) for child in re.findall(rb"(\d+) 0 R", inner) if child in elements))

    outer = [text for text in elements.values() if b"/S /Figure" in text and b"/Alt" not in text]
    return [pages(text) for text in outer]


def print_papers(browser, save):
    """The page about the papers on paper, printed while the system has a dark theme."""
    figures = browser.count("figure")
    browser.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
        "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}})
    browser.size(800, 1100)
    browser.run("document.querySelector('.figures').scrollIntoView()")
    png = browser.picture()
    save("papers-print", png)
    check(brightness(png) > 0.8, "the printed papers are light")
    style = browser.run("""const style = (selector) => getComputedStyle(document.querySelector(selector));
        return [style('body').backgroundColor, style(':root').getPropertyValue('--c0').trim(), style('.wide').overflowX];""")
    check(style == ["rgb(255, 255, 255)", "#0b62c4", "visible"], f"they have the colours of paper and whole tables {style}")
    moving = browser.count("a, audio, button, details, input, script, select, textarea, video, [onclick], [tabindex]")
    check(moving == 0, f"nothing on them needs a screen ({moving} elements)")
    browser.size(1280, 1000)
    browser.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "", "features": [
        {"name": "prefers-color-scheme", "value": "dark"}]}})
    pdf = base64.b64decode(browser.post("/print", {"background": True}))
    whole = [pages for pages in pages_of_figures(pdf) if len(pages) == 1]
    check(len(whole) == figures, f"{len(whole)} of {figures} figures are on one page with their captions")
    pages = len(re.findall(rb"/Type /Page\n", pdf))
    check(figures / 8 <= pages <= figures / 2, f"there are {pages} pages")


def main(tool, pictures=None):
    folder = tempfile.mkdtemp(prefix="ringer-browser-")

    def save(name, png):
        if pictures:
            os.makedirs(pictures, exist_ok=True)
            with open(f"{pictures}/{name}.png", "wb") as file:
                file.write(png)

    browser = None
    try:
        made, extra = reports(tool, folder), unmatched(tool, folder)
        browser = Browser(folder + "/profile")
        for report in made:
            print(f"ringer {report.command} --report")
            look_at_few(browser, report, save)
            use_the_keyboard(browser, report)
            look_at_many(browser, report, save)
        look_at_unmatched(browser, extra, save)
        look_at_papers(browser, os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../docs/papers.html"), save)
    except AssertionError as error:
        print(f"FAILED  {error}")
        return 1
    finally:
        if browser:
            browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("some checks failed" if FAILED else "reports work in Chromium")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
