"""Reads the output of `llvm-cov export --format=lcov`. Prints a table of src/format by file, then each line and each
side of a branch that no test reached. Test code does not count. Used by `.ci/coverage`.
"""

import sys
from pathlib import Path

lines, branches = {}, {}
for record in open(sys.argv[1]).read().split("end_of_record"):
    name = None
    for entry in record.split():
        key, _, rest = entry.partition(":")
        if key == "SF":
            name = rest[rest.find("src/"):] if "src/format/" in rest else None
        elif name and key == "DA":
            line, count = rest.split(",")[:2]
            seen = lines.setdefault(name, {})
            seen[int(line)] = seen.get(int(line), 0) + int(count)
        elif name and key == "BRDA":
            line, block, side, count = rest.split(",")
            seen = branches.setdefault(name, {})
            place = int(line), block, side
            seen[place] = seen.get(place, 0) + (0 if count == "-" else int(count))


def without_tests(name, seen, line_of):
    text = Path(name).read_text().splitlines()
    tests = [n for n, line in enumerate(text, 1) if line.startswith("#[cfg(test)]")]
    end = tests[0] if tests else len(text) + 1
    return {key: count for key, count in seen.items() if line_of(key) < end}


def share(counts):
    reached = sum(count > 0 for count in counts.values())
    percent = 100 * reached / len(counts) if counts else 100
    return f"{reached:6} of {len(counts):5} {percent:6.2f} %"


every = {"lines": {}, "branches": {}}
missed = []
print(f"{'file':32} {'lines':>24} {'sides of branches':>24}")
for name in sorted(lines):
    if name.endswith("tests.rs"):
        continue
    of_lines = without_tests(name, lines[name], lambda line: line)
    of_branches = without_tests(name, branches.get(name, {}), lambda place: place[0])
    print(f"{name:32} {share(of_lines):>24} {share(of_branches):>24}")
    every["lines"].update({(name, line): count for line, count in of_lines.items()})
    every["branches"].update({(name, *place): count for place, count in of_branches.items()})
    text = Path(name).read_text().splitlines()
    missed += [(name, line, "line") for line, count in of_lines.items() if count == 0]
    missed += [(name, line, f"branch {block}, side {side}")
               for (line, block, side), count in of_branches.items() if count == 0]
print(f"{'all':32} {share(every['lines']):>24} {share(every['branches']):>24}")
for name, line, what in sorted(missed):
    print(f"{name}:{line}: {what} not reached: {Path(name).read_text().splitlines()[line - 1].strip()}")
