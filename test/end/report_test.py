#!/usr/bin/env python3
"""report_test - the web page of a run: its content, and how a browser shows it."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import zlib

from query_folder import QueryFolder
from end import Tap

say = Tap.say
BAD_NAME = "<script>document.title = 1<script> & \\\"quoted\\\" \\u202e<!--"
FAST = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
        " --disable-background-networking --disable-component-update --disable-sync"
        " --enable-logging=stderr --virtual-time-budget=5000 --window-size=900,900").split()

JOB = f"""
lanes:
  db: {{}}
tasks:
  - {{name: load, run: "sleep 0.1; echo loading; echo 1 2 3 >data.txt", out: [data.txt]}}
  - {{name: write, run: "sleep 0.1", needs: [load], lane: db, access: write}}
  - {{name: bad, run: "sleep 0.1; exit 4", needs: [load]}}
  - {{name: after, run: "true", needs: [bad]}}
  - {{name: m1, bundle: b, run: "sleep 0.1"}}
  - {{name: "{BAD_NAME}", run: "sleep 0.1; echo '</script><script>'"}}
"""


class Page(html.parser.HTMLParser):
    """The elements of a page, and the texts in cells of its table."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells, self.inside, self.root = {}, [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag == "html":
            self.root = dict(attrs)
        if tag == "td":
            self.cells.append("")
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "td" in self.inside:
            self.cells[-1] += data


def browser(page, *words):
    """Chromium with a profile of its own: what it prints, and its console."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(["chromium", *FAST, f"--user-data-dir={profile}", *words,
                               "file://" + page], capture_output=True, text=True, check=False,
                              timeout=240)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def pixels(path):
    """The colours of a PNG as Chromium writes it, and how often each is there."""
    with open(path, "rb") as file:
        content = file.read()
    at, packed, wide, bytes_each = 8, b"", 0, 3
    while at < len(content):
        size, kind = int.from_bytes(content[at:at + 4], "big"), content[at + 4:at + 8]
        body = content[at + 8:at + 8 + size]
        if kind == b"IHDR":
            wide, bytes_each = int.from_bytes(body[:4], "big"), {2: 3, 6: 4}[body[9]]
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    raw, step, before, found = zlib.decompress(packed), wide * bytes_each, None, {}
    before = bytearray(step)
    for start in range(0, len(raw), step + 1):
        line = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + step]), before, bytes_each)
        for i in range(0, step, bytes_each):
            colour = bytes(line[i:i + 3])
            found[colour] = found.get(colour, 0) + 1
        before = line
    return found


def unfilter(kind, line, above, each):
    for i, byte in enumerate(line):
        left = line[i - each] if i >= each else 0
        corner = above[i - each] if i >= each else 0
        guess = left + above[i] - corner
        near = min((left, above[i], corner), key=lambda value: abs(guess - value))
        line[i] = byte + (0, left, above[i], (left + above[i]) // 2, near)[kind] & 255
    return line


def content(folder, text):
    body = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S)
    say(not re.search(r"https?:|src=|url\(|@import|<link", body),
        "the page loads nothing from elsewhere")
    say("default-src 'none'" in text, "and may not")
    data = json.loads(re.search(r'id="data">\n(.*?)</script>', text, re.S).group(1))
    say(data == json.loads(folder.rota("report", "--json").stdout) | {"made": data["made"]},
        "it contains the output of --json")
    say(BAD_NAME.encode().decode("unicode_escape") in [task["name"] for task in data["tasks"]],
        "names are as they were")
    chain = data["critical"]
    say(chain and all(one in data["tasks"][other]["needs"] for one, other in zip(chain, chain[1:])),
        "each task of the critical path needs the one before", chain)
    say(len(data["attempts"]) == 5 and data["slots"] >= 1, "all attempts are there")
    page = Page(text)
    say(page.tags["script"] == 2, "no name is an element of the page", page.tags)


def drawn(folder, path):
    said, console = browser(path, "--dump-dom")
    page = Page(said)
    say(not console, "a browser reports no error", console)
    say(page.root.get("data-bars") == "5", "every attempt is a bar", page.root)
    say(BAD_NAME.encode().decode("unicode_escape") in page.cells,
        "a name that looks like a script is shown as text", page.cells)
    say(page.tags["script"] == 2 and page.tags["canvas"] == 2,
        "and adds no script; the lane has a chart", page.tags)
    image = os.path.join(folder.path, "page.png")
    browser(path, f"--screenshot={image}")
    found = pixels(image)
    say(found.get(bytes.fromhex("4a90c2"), 0) > 100 and found.get(bytes.fromhex("8e5bb5"), 0) > 10,
        "bars are drawn, and those of lanes")


def used(folder, text):
    """A script added to the page acts like a user."""
    acts = """<script>
byId('filter').value = 'WRITE'; byId('filter').dispatchEvent(new Event('input'));
const after = document.querySelectorAll('#rows tr').length;
document.querySelector('#rows tr').click();
byId('theme').click();
document.documentElement.dataset.test = after + ' ' + byId('detail').querySelector('h3').textContent
  + ' ' + document.documentElement.dataset.theme;
</script></body>"""
    path = os.path.join(folder.path, "used.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", acts))
    said, console = browser(path, "--dump-dom")
    result = Page(said).root.get("data-test")
    say(result == "1 write (1.2) dark" and not console, "filter, choice and dark colours work",
        f"{result} {console}")


def unseen(folder, text):
    """A browser grants no animation frames to a tab that is not shown."""
    path = os.path.join(folder.path, "unseen.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("<body", "<script>requestAnimationFrame = () => 0</script><body"))
    said, console = browser(path, "--dump-dom")
    say(Page(said).root.get("data-bars") == "5" and not console,
        "the page is drawn before its first animation frame", console)


def many():
    lines = [json.dumps({"name": f"task-{i:04}", "run": ["true"]}) for i in range(2000)]
    with QueryFolder("\n".join(lines) + "\n", "many.jsonl") as folder:
        folder.rota("run", "-q", "many.jsonl")
        folder.rota("report", "-o", "many.html")
        said, console = browser(os.path.join(folder.path, "many.html"), "--dump-dom")
        page = Page(said)
        say(not console and page.tags["tr"] == 201 and int(page.root.get("data-bars", 0)) > 50,
            "2,000 tasks: a page of the table, and all bars that can be seen", page.root)


with QueryFolder(JOB) as night:
    night.rota("run", "-k", "night.yaml")
    done = night.rota("report", "-o", "report.html")
    whole = os.path.join(night.path, "report.html")
    say(done.returncode == 0 and done.stdout == "report.html\n", "a report is written", done.stderr)
    with open(whole, encoding="utf-8") as report:
        source = report.read()
    same = night.rota("report").stdout
    say(len(same) == len(source), "or goes to the output")
    refused = night.rota("report", "-o", "nowhere/report.html")
    say(refused.returncode == 70 and refused.stderr ==
        "rota report: cannot write nowhere/report.html: its folder does not exist\n",
        "a missing folder is reported", refused.stderr)
    content(night, source)
    if shutil.which("chromium"):
        drawn(night, whole)
        used(night, source)
        unseen(night, source)
        many()
    else:
        say(True, "a browser draws it # skip: chromium is not installed")
Tap.end()
