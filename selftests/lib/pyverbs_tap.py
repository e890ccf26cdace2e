#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: selftests/lib/pyverbs_tap.py TESTS DEVICE EXPLAINED [--seed N] [NAME...]

Runs rdma-core's own Python tests, which lie in the directory TESTS, on DEVICE and says what they
said in the Test Anything Protocol. Only tests that ran are counted; the others are listed with their
reasons. EXPLAINED lists the reasons that are in order: lines of a Python regular expression for the
reason, a tab and the explanation. A test that is skipped for another reason is a failure. Where "not
run:" stands before the expression it is for the names of tests, which are left out. The tests throw
dice: --seed makes them fall the same way again. NAMEs are tests as they are called here.
"""

import argparse
import importlib
import os
import random
import re
import sys
import unittest


class Recorder(unittest.TestResult):
    """What became of each test, and of each subtest of it."""

    def __init__(self):
        super().__init__()
        self.passed, self.failed, self.left_out = [], [], []

    def addSuccess(self, test):
        self.passed.append(test.id())

    def addFailure(self, test, err):
        self.failed.append((test.id(), self._exc_info_to_string(err, test)))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(subtest, err)

    def addSkip(self, test, reason):
        self.left_out.append((test.id(), reason))

    def addExpectedFailure(self, test, err):
        self.passed.append(test.id())

    def addUnexpectedSuccess(self, test):
        self.failed.append((test.id(), "was expected to fail, and did not"))


NOT_RUN = "not run:"


def load_explanations(path):
    """Two lists of (expression, explanation): for reasons, and for names of tests not to run."""
    explained, not_run = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, text = line.rstrip("\n").split("\t", 1)
                rules = not_run if pattern.startswith(NOT_RUN) else explained
                pattern = pattern.removeprefix(NOT_RUN).strip()
                rules.append((re.compile(pattern), text.strip()))
    return explained, not_run


def leave_out(suite, not_run):
    """The suite without what is not to run; the names of that are printed with the reason."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(leave_out(test, not_run))
            continue
        text = explain(test.id(), not_run)
        if text:
            print(f"# not run {test.id().removeprefix('tests.')}: {text}")
        else:
            kept.addTest(test)
    return kept


def load_tests(directory, device, names):
    """All tests of the package, as its own run_tests.py finds them."""
    parent, package = os.path.split(os.path.abspath(directory))
    if package != "tests":
        sys.exit(f"{directory}: the tests must be in a directory of the name 'tests'")
    sys.path[:0] = [parent, directory]
    sys.argv[1:] = ["--dev", device]
    importlib.import_module("args_parser").parser.parse_args()
    loader = unittest.defaultTestLoader
    tests = importlib.import_module("tests")
    if names:
        return loader.loadTestsFromNames(names)
    return loader.loadTestsFromModule(tests)


def diagnose(text):
    for line in text.splitlines():
        print(f"#   {line[:300]}")


def explain(reason, explained):
    return next((text for pattern, text in explained if pattern.search(reason)), None)


def report(result, explained):
    """Prints the plan and one line per test that ran; true if all is well."""
    unexplained = [(name, reason) for name, reason in result.left_out
                   if explain(reason, explained) is None]
    failed = result.failed + [(name, f"skipped, which nothing explains: {reason}")
                              for name, reason in unexplained]
    print(f"1..{len(result.passed) + len(failed)}")
    number = 0
    for name in result.passed:
        number += 1
        print(f"ok {number} - {name.removeprefix('tests.')}")
    for name, text in failed:
        number += 1
        diagnose(text)
        print(f"not ok {number} - {name.removeprefix('tests.')}")
    for name, reason in result.left_out:
        text = explain(reason, explained)
        if text:
            print(f"# skipped {name.removeprefix('tests.')}: {reason} ({text})")
    print(f"# {len(result.passed)} ran well, {len(failed)} failed, "
          f"{len(result.left_out)} were skipped")
    return not failed and result.passed


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tests")
    parser.add_argument("device")
    parser.add_argument("explained")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()

    sys.dont_write_bytecode = True
    explained, not_run = load_explanations(arguments.explained)
    suite = load_tests(arguments.tests, arguments.device, arguments.names)
    print("TAP version 13")
    print(f"# seed {arguments.seed}")
    suite = leave_out(suite, not_run)
    random.seed(arguments.seed)
    result = Recorder()
    sys.stdout.flush()
    suite.run(result)
    ok = report(result, explained)
    sys.stdout.flush()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
