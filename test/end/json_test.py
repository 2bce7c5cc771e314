#!/usr/bin/env python3
"""json_test - every command with JSON output writes valid JSON: each line, or the file, is parsed.
"""
import json
import os
import shutil
import subprocess
import tempfile

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap

say = Tap.say
ODD = 'odd "name" \\ ä'  # a name that needs escapes
JOB = {"tasks": {
    "made": {"run": "echo made > 'o'", "out": ["o"]},
    ODD: {"run": "cat o; printf 'a\\001\\377\"'", "in": ["o"], "lane": "one", "retries": {
        "max": 1, "backoff": "1ms", "codes": [75]}},
    "bad": {"run": "exit 3", "needs": ["made"]},
    "after": {"run": "true", "needs": ["bad"]}}, "lanes": {"one": {"order": "submit"}}}
STREAM = {"tasks": {
    "writer": {"run": "echo x > s", "out": [{"name": "s", "kind": "stream"}]},
    "first": {"run": "cat s", "in": ["s"]}, "second": {"run": "cat s", "in": ["s"]}}}
ROUND = [  # of one job; each line is an object
    ["run", "-k", "--json", "job.json"], ["run", "-n", "--json", "job.json"],
    ["ps", "-a", "--json", "job.json"], ["show", "--json", "job.json", "made"],
    ["show", "--json", "job.json", ODD], ["why", "--json", "job.json", "after"],
    ["lanes", "--json", "job.json"], ["logs", "--json", "job.json", ODD],
    ["data", "ls", "--json", "job.json"], ["history", "--json", ".rota/rota.db"],
    ["jobs", "--json", ".rota/rota.db"], ["verify", "--json", ".rota/rota.db"],
    ["replay", "--json", ".rota/rota.db"], ["top", "--once", "--json", "--db", ".rota/rota.db"],
    ["sql", "--json", ".rota/rota.db", "select 1.5, 9e999, x'01', null, cast(x'ff' as text)"],
    ["simulate", "--json", "job.json"], ["retry", "--json", "job.json", "bad"]]
WHOLE = [  # the output is one value
    ["check", "--json", "job.json"], ["check", "--json", "stream.json"],
    ["graph", "--json", "job.json"], ["graph", "--json", "stream.json"],
    ["trace", "job.json"], ["report", "--json", "job.json"]]


def rota(folder, words):
    return subprocess.run([ROTA_PATH, *words], cwd=folder, capture_output=True, check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)


def parsed(text):
    """None, or why the text is not JSON. Python takes Infinity and NaN, which JSON lacks."""
    def refuse(word):
        raise ValueError(word)
    try:
        json.loads(text.decode(), parse_constant=refuse)
        return None
    except ValueError as error:
        return error


def look(done, words, texts):
    wrong = [(text, why) for text in texts if (why := parsed(text))]
    say(texts and not wrong and b"usage" not in done.stderr,
        "rota " + " ".join(words[:2]) + " writes JSON", (words, done, wrong))


def local():
    folder = tempfile.mkdtemp(prefix="rota-json-")
    try:
        for name, job in (("job.json", JOB), ("stream.json", STREAM)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(job, file)
        for words in ROUND:
            done = rota(folder, words)
            look(done, words, done.stdout.splitlines())
        for words in WHOLE:
            done = rota(folder, words)
            look(done, words, [done.stdout])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remote():
    with Cluster() as cluster:
        cluster.work("w")
        path = cluster.job(JOB["tasks"], lanes=JOB["lanes"])
        server = ["--server", cluster.socket]
        for words in (["submit", "--json", "--wait", path], ["wait", "--json", "1"],
                      ["ps", "-a", "--json"], ["top", "--once", "--json"],
                      ["data", "ls", "--json"]):
            done = rota(cluster.folder, [words[0], *server, *words[1:]])
            look(done, words, done.stdout.splitlines())


local()
remote()
Tap.end()
