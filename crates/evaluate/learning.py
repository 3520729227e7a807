"""Linear learners on signatures: accuracy against k and b, beside the original features and random projections.

    python3 crates/evaluate/learning.py RINGER DIR [--quick]

RINGER is the tool. DIR receives `learning.csv`, which `ringer-evaluate --report DIR` draws. Needs scikit-learn from PyPI; if it
is missing, the script makes a virtual environment in ~/.cache/ringer and runs itself there.

The data are package descriptions of Debian (`debian-desc-public` in the folder that RINGER_DATA names) as sets of words. The
label is the family that a package's name tells, such as python3-* or fonts-*; names are not part of the text.
"""

import collections
import csv
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REQUIREMENT = "scikit-learn>=1.5,<2"
FAMILIES = ["python3-", "golang-", "node-", "ruby-", "r-cran-", "fonts-", "texlive-", "librust-"]
MOST_OF_A_FAMILY = 600
SAMPLES = [16, 32, 64, 128, 256, 512]
BITS = [1, 2, 4, 8]


def with_learners():
    """Runs this script where scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        cache = Path(os.environ.get("RINGER_CACHE", Path.home() / ".cache" / "ringer"))
        folder = cache / f"learning-{sys.version_info[0]}.{sys.version_info[1]}"
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", REQUIREMENT], check=True)
            (folder / "complete").touch()
        os.execv(python, [str(python), *sys.argv])


def documents():
    """Keys, words and labels."""
    here = Path(__file__).resolve().parent
    data = Path(os.environ.get("RINGER_DATA", here / "../../../shared/data"))
    path = data / "debian-desc-public" / "Translation-en.bookworm.xz"
    if not path.exists():
        return None
    found, counts = {}, collections.Counter()
    for stanza in lzma.open(path, "rt", encoding="utf-8").read().split("\n\n"):
        name, _, text = stanza.partition("Description-en: ")
        name = name.partition("\n")[0].removeprefix("Package: ")
        family = next((family for family in FAMILIES if name.startswith(family)), None)
        words = sorted(set(re.findall("[a-z0-9]+", text.lower())))
        if family and words and counts[family] < MOST_OF_A_FAMILY:
            counts[family] += 1
            found[name] = (words, FAMILIES.index(family))
    return [(name, *found[name]) for name in sorted(found)]


def exported(ringer, folder, docs, samples, bits):
    """What `ringer export` prints for signatures of this many samples and bits, as a matrix with labels."""
    from sklearn.datasets import load_svmlight_file

    db, sets, labels = (folder / name for name in ("db.ringer", "sets.tsv", "labels.tsv"))
    db.unlink(missing_ok=True)
    sets.write_text("".join(f"{name}\t{' '.join(words)}\n" for name, words, _ in docs))
    labels.write_text("".join(f"{name}\t{label}\n" for name, _, label in docs))
    run = lambda *arguments: subprocess.run([ringer, *map(str, arguments)], check=True, capture_output=True).stdout
    run("create", db, "--features", "tokens", "--samples", samples, "--bits", bits, "--slots", 0, "--seed", 1)
    run("add", db, "--sets", sets, "--quiet")
    (folder / "rows.svm").write_bytes(run("export", db, "--libsvm", "--labels", labels))
    return load_svmlight_file(str(folder / "rows.svm"), n_features=samples << bits, zero_based=False)


def accuracies(features, labels, seed=0):
    """The share of test rows that each learner labels right."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.svm import LinearSVC

    parts = train_test_split(features, labels, test_size=0.3, random_state=seed, stratify=labels)
    train, test, train_labels, test_labels = parts
    for name, learner in [("linear SVM", LinearSVC()), ("logistic regression", LogisticRegression(max_iter=300))]:
        yield name, learner.fit(train, train_labels).score(test, test_labels)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with_learners()
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.random_projection import SparseRandomProjection

    ringer, out, quick = sys.argv[1], Path(sys.argv[2]), "--quick" in sys.argv
    docs = documents()
    if docs is None:
        print("skipped: the data was not found (set RINGER_DATA)")
        return
    out.mkdir(parents=True, exist_ok=True)
    sizes = SAMPLES[1:5:2] if quick else SAMPLES
    labels = [label for _, _, label in docs]
    original = CountVectorizer(binary=True, token_pattern="[a-z0-9]+").fit_transform(" ".join(w) for _, w, _ in docs)
    rows = []

    def add(method, samples, bits, features, labels):
        for learner, accuracy in accuracies(features, labels):
            rows.append([method, learner, samples, bits, f"{accuracy:.4f}"])
            print(*rows[-1], flush=True)

    add("original", 0, 0, original, labels)
    with tempfile.TemporaryDirectory() as folder:
        for bits in BITS:
            for samples in sizes:
                features, of_rows = exported(ringer, Path(folder), docs, samples, bits)
                assert of_rows.tolist() == labels, "rows come in the order of the keys"
                assert (features.sum(axis=1) == samples).all(), "a one for each sample"
                add("signatures", samples, bits, features, labels)
                numbers = samples * bits // 32
                if numbers:
                    projection = SparseRandomProjection(numbers, random_state=1)
                    add("projections", samples, bits, projection.fit_transform(original), labels)
    with open(out / "learning.csv", "w", newline="") as file:
        csv.writer(file).writerows([["method", "learner", "samples", "bits", "accuracy"], *rows])


main()
