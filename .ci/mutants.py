"""Puts all mutants of a part of the library into one copy of the tree, each behind a switch.

In: the list of `cargo mutants --list --json` and the sources. Out: sources in which the environment variable
RINGER_MUTANT=N activates mutant N, so that the crate is built once and not once per mutant. `cargo check` finds the
mutants that do not compile, and these are left out (unviable). Used by `.ci/mutants`.
"""

import json
import re
import subprocess
from pathlib import Path

import tree_sitter
import tree_sitter_rust

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
SWITCH = """
#[allow(missing_docs, reason = "mutants")]
pub(crate) mod mutant {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::LazyLock;
    static ACTIVE: LazyLock<usize> =
        LazyLock::new(|| std::env::var("RINGER_MUTANT").map_or(0, |n| n.parse().unwrap_or(0)));
    static TRACE: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("RINGER_MUTANT_TRACE").ok());
    static SEEN: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    /// Returns whether a mutant is active. Records the mutants that a test reaches, if a file for that is named.
    pub(crate) fn on(id: usize) -> bool {
        if let Some(path) = &*TRACE
            && !SEEN[id].swap(true, Ordering::Relaxed)
        {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(format!("{id}\\n").as_bytes()));
        }
        *ACTIVE == id
    }
}
"""


class Source:
    """A file with its mutants, by the place in it that they change."""

    def __init__(self, text, mutants):
        self.text = text.encode()
        self.starts = [0] + [m.end() for m in re.finditer(b"\n", self.text)]
        self.tree = PARSER.parse(self.text)
        self.at, self.used = {}, set()
        for mutant in mutants:
            place = self.offset(mutant["span"]["start"])
            self.at.setdefault((mutant["genre"], place), []).append(mutant)

    def offset(self, place):
        # Columns count characters. Code is ASCII, so that is also the byte offset.
        return self.starts[place["line"] - 1] + place["column"] - 1

    def of(self, genre, place):
        found = self.at.get((genre, place), [])
        self.used.update(mutant["id"] for mutant in found)
        return found

    def plain(self, start, end):
        return self.text[start:end].decode()

    def joined(self, node, replaced=None, skip=None):
        """Returns the node's text, with mutants in the nodes below it."""
        out, last = [], node.start_byte
        for child in node.children:
            out.append(self.plain(last, child.start_byte))
            last = child.end_byte
            if skip is not None and child.id == skip.id:
                continue
            text = (replaced or {}).get(child.id)
            out.append(self.render(child) if text is None else text)
        out.append(self.plain(last, node.end_byte))
        return "".join(out)

    def render(self, node):
        make = getattr(self, "node_" + node.type, None)
        return (make and make(node)) or self.joined(node)

    def choice(self, mutants, make, original):
        """Returns code that selects one of several expressions by the active mutant."""
        arms = [f"if crate::mutant::on({m['id']}) {{\n{make(m)}\n}} else " for m in mutants]
        return f"({''.join(arms)}{{ {original} }})"

    def node_binary_expression(self, node):
        operator = node.child_by_field_name("operator")
        mutants = self.of("BinaryOperator", operator.start_byte)
        if not mutants:
            return None
        left, right = (self.render(node.child_by_field_name(side)) for side in ("left", "right"))
        write = lambda sign: f"({left}) {sign} ({right})"
        return self.choice(mutants, lambda m: write(m["replacement"]), write(operator.text.decode()))

    def node_compound_assignment_expr(self, node):
        operator = node.child_by_field_name("operator")
        mutants = self.of("BinaryOperator", operator.start_byte)
        if not mutants:
            return None
        left, right = (self.render(node.child_by_field_name(side)) for side in ("left", "right"))
        write = lambda sign: f"{left} {sign} ({right})"
        return self.choice(mutants, lambda m: write(m["replacement"]), write(operator.text.decode()))

    def node_unary_expression(self, node):
        mutants = self.of("UnaryOperator", node.start_byte)
        if not mutants:
            return None
        sign, operand = node.children[0].text.decode(), self.render(node.children[-1])
        return self.choice(mutants, lambda m: f"{m['replacement']} {operand}", f"{sign}{operand}")

    def node_match_arm(self, node):
        gone = self.of("MatchArm", node.start_byte)
        pattern = node.child_by_field_name("pattern")
        guard = pattern.child_by_field_name("condition")
        replaced = self.of("MatchArmGuard", guard.start_byte) if guard else []
        if not gone and not replaced:
            return None
        what, condition = self.plain(pattern.start_byte, pattern.end_byte), "true"
        if guard:
            what = self.plain(pattern.start_byte, guard.start_byte).rstrip()[: -len("if")]
            condition = self.choice(replaced, lambda m: m["replacement"], self.render(guard))
        absent = "".join(f" && !crate::mutant::on({m['id']})" for m in gone)
        return self.joined(node, {pattern.id: f"{what} if {condition}{absent}"})

    def node_struct_expression(self, node):
        body = node.child_by_field_name("body")
        fields = [(field, m) for field in body.children for m in self.of("StructField", field.start_byte)]
        if not fields:
            return None

        def without(field):
            children = body.children
            comma = children[[c.id for c in children].index(field.id) + 1]
            text = self.joined(body, {comma.id: ""} if comma.type == "," else None, skip=field)
            return self.joined(node, {body.id: text})

        found = {m["id"]: field for field, m in fields}
        return self.choice([m for _, m in fields], lambda m: without(found[m["id"]]), self.joined(node))

    def node_function_item(self, node):
        body = node.child_by_field_name("body")
        if body is None:
            return None
        code = [child for child in body.named_children if "comment" not in child.type]
        first = code[0].start_byte if code else body.start_byte
        found = self.of("FnValue", first)
        if not found:
            return None
        early = [f"\nif crate::mutant::on({m['id']}) {{ return {m['replacement']}; }}" for m in found]
        text = self.joined(body)
        return self.joined(node, {body.id: "{" + "".join(early) + "\n" + text[1:]})


def rewrite(tree, mutants):
    """Rewrites the files of a copy of the tree. Returns the mutants that could not be placed."""
    lost = []
    for name in sorted({mutant["file"] for mutant in mutants}):
        of_file = [mutant for mutant in mutants if mutant["file"] == name]
        path = Path(tree) / name
        source = Source(path.read_text(), of_file)
        path.write_text(source.render(source.tree.root_node))
        lost += [mutant for mutant in of_file if mutant["id"] not in source.used]
    return lost


def unviable(tree, environment):
    """Returns the mutants that cause errors of `cargo check`, with the errors."""
    run = subprocess.run(["cargo", "check", "--lib", "--features", "internals", "--message-format=json"],
                         cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    found = {}
    for line in run.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") != "error":
            continue
        for span in filter(lambda span: span["is_primary"], message["spans"]):
            before = (Path(tree) / span["file_name"]).read_bytes()[: span["byte_end"]].decode()
            ids = re.findall(r"mutant::on\((\d+)\)", before)
            if ids:
                found[int(ids[-1])] = message["message"]
    return run.returncode, found
