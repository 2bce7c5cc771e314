#!/usr/bin/env python3
"""commands_test - every command of README.md and doc/ works as it is shown there.

    commands_test.py [PAGE...]

pages.py says how a page is read and run. The test first shows on pages of its own that it finds a
wrong output, a wrong exit status and a block that is neither run nor marked.
"""
import sys

import pages

NOT_RUN_MAX = 12  # blocks of all pages together
WRONG = {
    "a wrong line of output": "```console\n$ echo one\ntwo\n```\n",
    "a line too many": "```console\n$ printf 'one\\ntwo\\n'\none\n```\n",
    "a wrong exit status": "```console\n$ false\n```\n",
    "a script that fails": "```sh\ntrue\nfalse\n```\n",
    "an option that does not exist": "```console\n$ rota run --no-such-option x.yaml\n```\n",
    "a command in a text block": "```text\nrota run x.yaml\n```\n",
    "a command in an indented block": "Text:\n\n    rota run x.yaml\n",
    "a block of an unknown kind": "```bash\nrota ps\n```\n",
    "another exact duration": "```console\n$ echo take 3 s\ntake 4 s\n```\n",
    "another task": "```console\n$ echo '[1/1] b 0.01 s'\n[1/1] a 0.01 s\n```\n",
    "a broken job file": "```yaml\ntasks: {a: {rum: b}}\n```\n",
}
RIGHT = """<!-- file: a.yaml -->
```yaml
tasks: {a: echo ready}
```

```console
$ rota run -q a.yaml && rota logs a
ready
$ sh -c 'echo ready; exec sleep 1000' &
ready
$ printf '%s\\n' one \\
>     two three 4.5
one
...
4...
$ printf '%s\\n' '[1/2] b 0.01 s' '[2/2] a 12.00 s' 'ID    SINCE' 'at 2026-01-02T03:04:05Z'
[1/2] a 0.03 s
[2/2] b 0.02 s
ID  SINCE
at 2026-11-18T20:48:27Z
$ exit_with() { return $1; }
$ exit_with 3   # exit 3
```
"""

number = failed = 0


def say(fine, what, note=""):
    global number, failed
    number += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {number} - {what}", flush=True)
    if not fine:
        print("# " + str(note).rstrip("\n").replace("\n", "\n# "))


def self_check():
    for what, text in WRONG.items():
        results = list(pages.page_try(text))
        say(any(fine is False for fine, _, _ in results), f"the test finds {what}", results)
    results = list(pages.page_try(RIGHT))
    say(len(results) == 6 and all(fine for fine, _, _ in results), "the test passes a right page",
        results)


def main():
    self_check()
    not_run = []
    for page in sys.argv[1:] or pages.names():
        ran = 0
        for fine, what, note in pages.page_try(pages.read(page)):
            if fine is None:
                not_run.append(f"{page}: {what}: {note}")
                continue
            ran += 1
            say(fine, f"{page}: {what}", note)
        print(f"# {page}: {ran} tried", flush=True)
    for line in not_run:
        print(f"# not run: {line}")
    say(len(not_run) <= NOT_RUN_MAX, f"at most {NOT_RUN_MAX} blocks are not run", not_run)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
