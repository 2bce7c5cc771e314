#!/usr/bin/env python3
"""again_test - what of a job file runs again after a change: bundles, conditions, lanes, --only."""
from end import Tap
from runs import Folder

say = Tap.say

BUNDLE = """\
tasks:
  one: {run: "true", bundle: both}
  two: {run: "true", bundle: both}
  behind: {run: "true", needs: both}
  once: {run: "true", when: su(one) & done(two)}
  alarm: {run: "true", when: fa(one)}
  last: {run: "true", needs: [behind, once]}
"""
with Folder(BUNDLE) as folder:
    folder.run()
    folder.write("job.yaml", BUNDLE + "  new: 'true'\n")
    say(folder.ran() == ["new"], "who needs a bundle, or asks if others are over, is done once")
    folder.write("job.yaml", BUNDLE.replace('two: {run: "true"', 'two: {run: "true; true"'))
    say(folder.ran() == ["behind", "last", "once", "two"], "and again when one of these is")

Tap.end()
