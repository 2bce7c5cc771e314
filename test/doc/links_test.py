#!/usr/bin/env python3
"""links_test - links in the documents have targets, and lists in them match the sources.

Links to files and headings; tests that doc/ names; options of rota run; the rooms of
ARCHITECTURE.md, which are those of tool/layers; the README.md of each room and its files; the
planted mistakes of doc/found-mistakes.md.
"""
import glob
import os
import re
import subprocess
import sys

import pages

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
ROOMS = ("base core doc end guard job model net object os plan play pool query run server sim "
         "store table turn worker")
TEST = re.compile(rf"`((?:{'|'.join(ROOMS.split())})/[\w/*.-]+\.(?:play|py|c))`")
ARCHITECTURE_MAX = 150
# Mistakes that were in rota, so that the page must say why they were missed.
MISSED = ("FILES_UNCHECKED FENCE_STOPPED TWIN_TAKES_OVER COPY_UNNOTICED CONTENT_TRUSTED "
          "CONTENT_UNSAID TOKEN_BACK TOKEN_UNCHECKED DISCARD_UNCHECKED EVICTION_FAILS "
          "LACK_UNCOUNTED STREAM_TRUSTED")

number = failed = 0


def say(fine, what, note=""):
    global number, failed
    number += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {number} - {what}")
    if not fine:
        print("# " + str(note).replace("\n", "\n# "))


def documents():
    """All pages for people, as paths from the root."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"],
                            cwd=pages.ROOT, capture_output=True, text=True, check=False)
    found = listed.stdout.split() if listed.returncode == 0 else pages.names()
    return [name for name in found if os.path.exists(os.path.join(pages.ROOT, name))]


def headings(name):
    """The anchors that GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", pages.read(name), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def lost_links(name):
    for path, anchor in LINK.findall(re.sub(r"`[^`]*`", "", pages.read(name))):
        folder = os.path.dirname(name)
        target = os.path.normpath(os.path.join(folder, path)) if path else name
        if not os.path.exists(os.path.join(pages.ROOT, target)):
            yield f"{path} does not exist"
        elif anchor and anchor not in headings(target):
            yield f"{path}#{anchor}: no such heading"


def lost_files(room):
    """Sources that the README.md of a room names: below the room, or below src, include or test."""
    text = pages.read(f"src/{room}/README.md")
    for name in sorted(set(re.findall(r"`([\w/]+\.[ch])`", text))):
        places = (f"src/{room}/{name}", f"src/{room}/*/{name}", f"src/{name}", f"include/{name}",
                  name)
        if not any(glob.glob(os.path.join(pages.ROOT, place)) for place in places):
            yield name


def rooms():
    """(level, room) of tool/layers and of ARCHITECTURE.md, sorted."""
    table = [tuple(line.split()[:2]) for line in pages.read("tool/layers").splitlines()
             if line and not line.startswith("#")]
    shown = re.findall(r"^\| (\d+) \| \[([\w/]+)\]", pages.read("ARCHITECTURE.md"), re.M)
    return sorted(table), sorted(shown)


def planted_mistakes():
    """Mistakes of src/base/planted.h and rows of doc/found-mistakes.md that do not match, and those
    of MISSED whose row has no reason."""
    planted = dict(re.findall(r'P\((\w+), "([^"]*)"\)', pages.read("src/base/planted.h")))
    rows = re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", pages.read("doc/found-mistakes.md"), re.M)
    shown = {name: rest.split(" | ") for name, rest in rows}
    wrong = [name for name in set(planted) | set(shown)
             if planted.get(name) != shown.get(name, [None])[0] or not all(shown[name][1:])]
    missed = [name for name in MISSED.split() if len(shown.get(name, ())) != 3]
    return len(planted), sorted(wrong), missed


def main():
    for name in documents():
        lost = list(lost_links(name))
        say(not lost, f"{name}: all links lead somewhere", lost)

    for name in pages.names():
        missing = [one for one in sorted(set(TEST.findall(pages.read(name))))
                   if not glob.glob(os.path.join(pages.ROOT, "test", one))]
        say(not missing, f"{name} names tests that exist", missing)
    say(len(TEST.findall(pages.read("doc/guarantees.md"))) > 50, "doc/guarantees.md names tests")

    missing = [name for name in pages.names()[1:] if f"]({name})" not in pages.read("README.md")]
    say(not missing, "README.md links every page of doc/", missing)

    count, wrong, missed = planted_mistakes()
    say(count > 70 and not wrong, "doc/found-mistakes.md has the mistakes of base/planted.h", wrong)
    say(not missed, "it says why those that were in rota were missed before", missed)

    table, shown = rooms()
    say(table == shown, "ARCHITECTURE.md lists the rooms of tool/layers",
        sorted(set(table) ^ set(shown)))
    lines = len(pages.read("ARCHITECTURE.md").splitlines())
    say(lines <= ARCHITECTURE_MAX, f"ARCHITECTURE.md has at most {ARCHITECTURE_MAX} lines", lines)
    for room in sorted({room.split("/")[0] for _, room in table}):
        say(os.path.exists(os.path.join(pages.ROOT, "src", room, "README.md")),
            f"src/{room} has a README.md")
        lost = list(lost_files(room))
        say(not lost, f"src/{room}/README.md names files that exist", lost)

    usage = subprocess.run([os.path.join(pages.BUILD, "rota"), "run", "--help"],
                           capture_output=True, text=True, check=False).stdout
    page = pages.read("doc/running-locally.md")
    missing = [word for word in re.findall(r"--[a-z]+[a-z-]*", usage)
               if word not in page and word != "--help"]
    say(usage and not missing, "doc/running-locally.md has all options of rota run", missing)
    targets = re.findall(r"^\$ make ([a-z]+)", pages.read("README.md"), re.M)
    missing = [one for one in targets if not re.search(rf"^{one}:", pages.read("Makefile"), re.M)]
    say(targets and not missing, "README.md names targets of the Makefile", missing)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
