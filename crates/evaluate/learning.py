"""Linear learners on signatures: accuracy against k and b, beside the original features and random projections.

    python3 crates/evaluate/learning.py RINGER DIR [--quick]

`ringer-evaluate --report` runs this script and draws what it writes. RINGER is the tool. DIR receives `learning.csv`. Needs
scikit-learn from PyPI; if it is missing, the script makes a virtual environment in ~/.cache/ringer and runs itself there. If
that fails, the status is 77.

The data are in the folder that RINGER_DATA names; what is missing is left out:
- descriptions: Debian's package descriptions as sets of words. The label is the family that a package's name tells, such as
  python3-* or fonts-*; names are not part of the text. (The data has no sections.)
- cora: bibliographic records as sets of 3-grams. The label is the work that a record cites, for works with ten records or more.
- dblp-acm: pairs of records of two libraries, as sets of 3-grams. The label says whether people found them to be the same.
  The pairs that are not are the most similar ones of each record.
- answers: pairs of a student's answer and the article on its subject, as sets of words. The label says whether the answer was
  copied. These are 95 pairs, so a few right labels more or less are chance.

The features of a pair are those that both sides have, divided by the number of features that either side has.
"""

import collections
import csv
import lzma
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = "scikit-learn>=1.5,<2"
FAMILIES = ["python3-", "golang-", "node-", "ruby-", "r-cran-", "fonts-", "texlive-", "librust-"]
MOST_OF_A_FAMILY = 600
SAMPLES = [16, 32, 64, 128, 256, 512]
BITS = [1, 2, 4, 8]
NO_LEARNERS = 77


def with_learners():
    """Runs this script where scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        cache = Path(os.environ.get("RINGER_CACHE", Path.home() / ".cache" / "ringer"))
        folder = cache / f"learning-{sys.version_info[0]}.{sys.version_info[1]}"
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
                subprocess.run([python, "-m", "pip", "install", "--quiet", REQUIREMENT], check=True)
            except subprocess.CalledProcessError as error:
                print(f"no learners: {error}", file=sys.stderr)
                sys.exit(NO_LEARNERS)
            (folder / "complete").touch()
        os.execv(python, [str(python), *sys.argv])


def data():
    here = Path(__file__).resolve().parent
    return Path(os.environ.get("RINGER_DATA", here / "../../../shared/data"))


def read(path):
    """The text of a file of the data, which may be packed."""
    path = data() / path
    return lzma.open(path, "rt", encoding="utf-8").read() if path.suffix == ".xz" else path.read_text("utf-8")


def tokens(text):
    return sorted(set(re.findall("[a-z0-9]+", text.lower())))


def grams(text):
    """The 3-grams of a text, as words without spaces."""
    text = text.lower()
    return sorted({text[i:i + 3].encode().hex() for i in range(len(text) - 2)})


class Task:
    """Sets by key in the order of keys, and rows with labels: keys, or pairs of keys."""

    def __init__(self, name, about, sets, rows, labels):
        self.name, self.about, self.sets, self.labels = name, about, dict(sorted(sets.items())), labels
        place = {key: i for i, key in enumerate(self.sets)}
        self.rows = [tuple(place[key] for key in row) for row in rows]

    def features(self, matrix):
        """The features of the rows, from those of the sets."""
        from scipy import sparse

        first = matrix[[row[0] for row in self.rows]]
        if len(self.rows[0]) == 1:
            return first
        second = matrix[[row[1] for row in self.rows]]
        both = first.multiply(second).tocsr()
        either = first.sum(axis=1).A1 + second.sum(axis=1).A1 - both.sum(axis=1).A1
        return sparse.diags(1.0 / either) @ both


def descriptions():
    found, counts = {}, collections.Counter()
    for stanza in read("debian-desc-public/Translation-en.bookworm.xz").split("\n\n"):
        name, _, text = stanza.partition("Description-en: ")
        name = name.partition("\n")[0].removeprefix("Package: ")
        family = next((family for family in FAMILIES if name.startswith(family)), None)
        words = tokens(text)
        if family and words and counts[family] < MOST_OF_A_FAMILY:
            counts[family] += 1
            found[name] = (words, FAMILIES.index(family))
    sets = {name: words for name, (words, _) in found.items()}
    about = f"descriptions of {len(sets)} Debian packages, {len(FAMILIES)} families"
    return Task("descriptions", about, sets, [[name] for name in sets], [label for _, label in found.values()])


def cora():
    sets = {}
    for line in read("er-labelled/cora/cora.csv.xz").splitlines()[1:]:
        key, _, rest = line.partition("|")
        sets[f"{int(key):05}"] = grams(rest.replace("|", " "))
    work = {key: key for key in sets}

    def find(key):
        while work[key] != key:
            key = work[key]
        return key

    for line in read("er-labelled/cora/cora_gt.csv.xz").splitlines():
        first, _, second = line.strip().partition("|")
        if first.isdigit() and second.isdigit():
            work[find(f"{int(first):05}")] = find(f"{int(second):05}")
    sizes = collections.Counter(find(key) for key in sets)
    kept = [key for key in sets if sizes[find(key)] >= 10]
    works = sorted({find(key) for key in kept})
    about = f"{len(kept)} records of cora, {len(works)} works"
    return Task("cora", about, sets, [[key] for key in kept], [works.index(find(key)) for key in kept])


def dblp_acm():
    sides = []
    for name in ("dblp", "acm"):
        side = {}
        for line in read(f"er-labelled/dblp-acm/{name}.csv.xz").splitlines()[1:]:
            key, _, rest = line.partition("%")
            side[f"{name}-{int(key):05}"] = grams(rest.replace("%", " "))
        sides.append(side)
    same = {}
    for line in read("er-labelled/dblp-acm/gt.csv.xz").splitlines()[1:]:
        first, _, second = line.strip().partition("%")
        same[f"dblp-{int(first):05}"] = f"acm-{int(second):05}"
    lists = collections.defaultdict(list)
    for key, words in sides[1].items():
        for word in words:
            lists[word].append(key)
    rows, labels = [], []
    for key, other in sorted(same.items()):
        common = collections.Counter(k for word in sides[0][key] for k in lists[word])
        union = lambda k: len(sides[0][key]) + len(sides[1][k]) - common[k]
        wrong = max((k for k in common if k != other), key=lambda k: (common[k] / union(k), k))
        rows += [[key, other], [key, wrong]]
        labels += [1, 0]
    about = f"{len(rows)} pairs of records of DBLP and ACM, half of them the same"
    return Task("dblp-acm", about, sides[0] | sides[1], rows, labels)


def answers():
    folder = data() / "plagiarised-answers"
    with zipfile.ZipFile(folder / "corpus-20090418.zip") as archive:
        texts = {Path(name).name: archive.read(name).decode("latin-1") for name in archive.namelist() if name.endswith(".txt")}
    sets = {name: tokens(text) for name, text in texts.items()}
    rows, labels = [], []
    for row in csv.DictReader((folder / "file_information.csv").read_text("latin-1").splitlines()):
        if row["Category"].strip() in ("cut", "light", "heavy", "non"):
            rows.append([row["File"], "orig_" + row["File"].rpartition("_")[2]])
            labels.append(int(row["Category"].strip() != "non"))
    about = f"{len(rows)} answers of students with the article on the subject, {sum(labels)} of them copied"
    return Task("answers", about, sets, rows, labels)


def exported(ringer, folder, task, samples, bits):
    """What `ringer export` prints for signatures of this many samples and bits, as a matrix in the order of the keys."""
    from sklearn.datasets import load_svmlight_file

    db, sets, labels = (folder / name for name in ("db.ringer", "sets.tsv", "labels.tsv"))
    db.unlink(missing_ok=True)
    sets.write_text("".join(f"{name}\t{' '.join(words)}\n" for name, words in task.sets.items()))
    labels.write_text("".join(f"{name}\t{i}\n" for i, name in enumerate(task.sets)))
    run = lambda *arguments: subprocess.run([ringer, *map(str, arguments)], check=True, capture_output=True).stdout
    run("create", db, "--features", "tokens", "--samples", samples, "--bits", bits, "--slots", 0, "--seed", 1)
    run("add", db, "--sets", sets, "--quiet")
    (folder / "rows.svm").write_bytes(run("export", db, "--libsvm", "--labels", labels))
    matrix, order = load_svmlight_file(str(folder / "rows.svm"), n_features=samples << bits, zero_based=False)
    assert order.tolist() == list(range(len(task.sets))), "rows come in the order of the keys"
    assert (matrix.sum(axis=1) == samples).all(), "a one for each sample"
    return matrix


def accuracies(features, labels):
    """The share of rows that each learner labels right, if a fifth is held out in turn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import LinearSVC

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    # Features of a pair are small numbers, so they are scaled to at most 1.
    features = features / max(features.max(), 1e-12)
    for name, learner in [
            ("linear SVM", LinearSVC(random_state=0)), ("logistic regression", LogisticRegression(max_iter=300))]:
        yield name, cross_val_score(learner, features, labels, cv=folds, n_jobs=2).mean()


def projected(original, task, numbers):
    """The rows of random projections to this many numbers. Those of a pair are the products of both sides."""
    from sklearn.random_projection import SparseRandomProjection

    dense = SparseRandomProjection(numbers, random_state=1, dense_output=True).fit_transform(original)
    first = dense[[row[0] for row in task.rows]]
    return first * dense[[row[1] for row in task.rows]] if len(task.rows[0]) == 2 else first


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with_learners()
    from sklearn.feature_extraction.text import CountVectorizer

    ringer, out, quick = sys.argv[1], Path(sys.argv[2]), "--quick" in sys.argv
    out.mkdir(parents=True, exist_ok=True)
    sizes, widths = (SAMPLES[1:5:2], BITS[::3]) if quick else (SAMPLES, BITS)
    rows = []
    for load in (descriptions, cora, dblp_acm, answers):
        try:
            task = load()
        except FileNotFoundError as error:
            print(f"left out: no {error.filename} (set RINGER_DATA)")
            continue

        def add(method, samples, bits, features):
            for learner, accuracy in accuracies(features, task.labels):
                rows.append([task.name, task.about, method, learner, samples, bits, f"{accuracy:.4f}"])
                print(*rows[-1], flush=True)

        words = CountVectorizer(binary=True, token_pattern="[a-z0-9]+", dtype=float)
        original = words.fit_transform(" ".join(words) for words in task.sets.values())
        add("original", 0, 0, task.features(original))
        with tempfile.TemporaryDirectory() as folder:
            for bits in widths:
                for samples in sizes:
                    add("signatures", samples, bits, task.features(exported(ringer, Path(folder), task, samples, bits)))
                    if samples * bits // 32:
                        add("projections", samples, bits, projected(original, task, samples * bits // 32))
    header = ["data", "about", "method", "learner", "samples", "bits", "accuracy"]
    with open(out / "learning.csv", "w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([header, *rows])


main()
