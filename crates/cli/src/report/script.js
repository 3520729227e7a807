"use strict";
// Shows the two blocks of JSON of this page. Text becomes text nodes only, never HTML. Only one page of rows is in the
// document at a time.

const PAGE_ROWS = 25;
const summary = JSON.parse(document.getElementById("summary").textContent);
// A group: [number, size, lowest similarity, members]. A member: [key, similarity, mark, low, high].
const groups = JSON.parse(document.getElementById("groups").textContent);
const at = (id) => document.getElementById(id);
const whole = (number) => number.toLocaleString("en");
const IDENTICAL = 1;
const EARLIER = 2;

/** An element with attributes and children. A string child becomes a text node. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A key as text: names that are not UTF-8 are shown as their bytes. */
const keyText = (key) => (typeof key === "string" ? key : "hex " + key.hex);
/** A key that cannot change the direction of what stands beside it. */
const keyOf = (key) => element("bdi", {}, keyText(key));
const plural = (number, word) => {
  const many = word === "query" ? "queries" : word + (word.endsWith("ch") ? "es" : "s");
  return `${whole(number)} ${number === 1 ? word : many}`;
};
const plain = (number, word) => plural(number, word).replace(/^\S+ /, "");
const sizeOf = (size) => (summary.group === "query" ? plural(size - 1, "match") : plural(size, summary.thing));
const upper = (word) => word[0].toUpperCase() + word.slice(1);

/** The similarity of a member, with its interval if it is an estimate. */
function similarityOf([, value, , low, high]) {
  if (value === null) return "";
  return low === undefined ? value.toFixed(3) : `${value.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

function tags(mark) {
  if (mark === IDENTICAL) return [element("span", { class: "tag" }, "identical")];
  return mark === EARLIER ? [element("span", { class: "tag" }, "from an earlier run")] : [];
}

// Charts

/** A card with a drawing, and its numbers as a table for those who cannot see it. */
function chart(title, label, svg, note, head, rows) {
  const table = element("table", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name))));
  for (const row of rows) table.append(element("tr", {}, ...row.map((cell) => element("td", {}, String(cell)))));
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const numbers = element("div", { class: "numbers", tabindex: "0", role: "region", "aria-label": title }, table);
  const more = element("details", {}, element("summary", {}, "Numbers"), numbers);
  at("charts").append(element("div", { class: "chart" }, element("h3", {}, title), element("p", { class: "quiet" }, note), svg, more));
}

const WIDTH = 360;
const HEIGHT = 198;
const BOTTOM = HEIGHT - 22;
const LEFT = 38;
const WIDEST_STEP = 80;
const TOP = 24;

function canvas() {
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  svg.append(drawn("line", { class: "axis", x1: LEFT, y1: BOTTOM, x2: WIDTH, y2: BOTTOM }));
  return svg;
}

const tick = (svg, x, y, text, anchor = "middle") =>
  svg.append(drawn("text", { class: "tick", x, y, "text-anchor": anchor }, text));

function bars(svg, counts, labels, width) {
  const most = Math.max(1, ...counts);
  const step = Math.min(WIDEST_STEP, (WIDTH - LEFT) / counts.length);
  counts.forEach((count, i) => {
    const height = count === 0 ? 0 : Math.max(2, ((BOTTOM - TOP) * count) / most);
    const bar = drawn("rect", { class: "bar", x: LEFT + i * step + 1, y: BOTTOM - height, width: Math.max(1, step * width), height, rx: 1.5 });
    bar.append(drawn("title", {}, `${labels[i]}: ${whole(count)}`));
    svg.append(bar);
  });
  tick(svg, LEFT - 5, TOP + 4, most >= 10000 ? `${Math.round(most / 1000)}k` : String(most), "end");
  tick(svg, LEFT - 5, BOTTOM, "0", "end");
  return step;
}

function sizesChart() {
  const bins = [];
  for (const [size, count] of summary.sizes) {
    const shown = summary.group === "query" ? size - 1 : size;
    const power = shown < 5 ? shown : 2 ** Math.floor(Math.log2(shown - 1)) + 1;
    const bin = bins.find((one) => one.start === power);
    if (bin) bin.count += count;
    else bins.push({ start: power, count, label: shown < 5 ? String(shown) : `${power}–${2 * (power - 1)}` });
  }
  const svg = canvas();
  const labels = bins.map((bin) => bin.label);
  const step = bars(svg, bins.map((bin) => bin.count), labels, 0.8);
  labels.forEach((label, i) => tick(svg, LEFT + (i + 0.4) * step, HEIGHT - 6, label));
  const title = summary.group === "query" ? "Matches of a query" : "Sizes of groups";
  const head = [summary.group === "query" ? "matches" : "size", plain(2, summary.group)];
  chart(title, `${title}: ${bins.length} bars`, svg, plural(summary.groups, summary.group), head,
    bins.map((bin) => [bin.label, whole(bin.count)]));
}

const binStart = (i) => summary.from + ((1 - summary.from) * i) / summary.bins;

function similaritiesChart() {
  const used = summary.similarities.findIndex((count) => count > 0);
  const first = Math.max(0, used < 0 ? 0 : Math.floor(used / 10) * 10);
  const group = summary.bins - first > 40 ? 4 : summary.bins - first > 20 ? 2 : 1;
  const counts = [];
  const labels = [];
  for (let i = first; i < summary.bins; i += group) {
    counts.push(summary.similarities.slice(i, i + group).reduce((a, b) => a + b, 0));
    labels.push(`${binStart(i).toFixed(2)} to ${binStart(Math.min(summary.bins, i + group)).toFixed(2)}`);
  }
  const svg = canvas();
  bars(svg, counts, labels, 0.86);
  const from = binStart(first);
  const x = (value) => LEFT + ((WIDTH - LEFT) * (value - from)) / (1 - from);
  for (let i = 0; i <= 4; i++) {
    const value = from + ((1 - from) * i) / 4;
    tick(svg, x(value), HEIGHT - 6, String(Number(value.toFixed(3))), i === 0 ? "start" : i === 4 ? "end" : "middle");
  }
  threshold(svg, x, from);
  const title = upper(summary.measure) + (summary.group === "query" ? "s of matches" : "s to the first member");
  chart(title, `${title}: ${counts.length} bars`, svg, plural(summary.pairs, "pair"), [summary.measure, "pairs"],
    labels.map((label, i) => [label, whole(counts[i])]).filter((_, i) => counts[i] > 0));
}

function threshold(svg, x, from) {
  if (summary.min === null || summary.min < from) return;
  const place = x(summary.min);
  svg.append(drawn("line", { class: "min", x1: place, y1: TOP, x2: place, y2: BOTTOM }));
  const end = place > WIDTH - 90;
  svg.append(drawn("text", { class: "min-label", x: place + (end ? -4 : 4), y: TOP - 12, "text-anchor": end ? "end" : "start" }, `threshold ${summary.min}`));
}

function curveChart() {
  const svg = canvas();
  const x = (value) => LEFT + ((WIDTH - LEFT - 12) * (value - summary.from)) / (1 - summary.from);
  const y = (chance) => BOTTOM - (BOTTOM - TOP) * chance;
  [0, 0.5, 1].forEach((chance) => tick(svg, LEFT - 5, y(chance) + 4, chance.toFixed(1), "end"));
  for (let i = 0; i <= 4; i++) {
    const value = summary.from + ((1 - summary.from) * i) / 4;
    tick(svg, x(value), HEIGHT - 6, value.toFixed(2), i === 4 ? "end" : "middle");
  }
  const steps = summary.curve.length - 1;
  const valueAt = (i) => summary.from + ((1 - summary.from) * i) / steps;
  const path = summary.curve.map((chance, i) => `${i ? "L" : "M"}${x(valueAt(i)).toFixed(1)} ${y(chance).toFixed(1)}`).join("");
  svg.append(drawn("path", { class: "curve", d: path }));
  threshold(svg, x, summary.from);
  const most = Math.max(1, ...summary.similarities);
  const rows = [];
  summary.similarities.forEach((count, i) => {
    if (count === 0) return;
    const chance = (summary.curve[i] + summary.curve[i + 1]) / 2;
    const middle = (binStart(i) + binStart(i + 1)) / 2;
    const dot = drawn("circle", { class: "dot", cx: x(middle), cy: y(chance), r: 2 + 7 * Math.sqrt(count / most) });
    dot.append(drawn("title", {}, `${summary.measure} ${middle.toFixed(3)}: ${plural(count, "pair")}, found with probability ${chance.toFixed(3)}`));
    svg.append(dot);
    rows.push([middle.toFixed(3), whole(count), chance.toFixed(3)]);
  });
  const note = summary.exhaustive
    ? "All pairs were compared in this run. With the index, this is the probability:"
    : `The curve of the scheme against ${summary.measure}; dots are the pairs of this run.`;
  chart("Probability of being found", `Probability of being found: a curve with ${rows.length} dots`, svg, note,
    [summary.measure, "pairs", "probability"], rows);
}

// Groups with differences

function diffOf(card) {
  const box = element("div", { class: "diff" });
  box.append(element("div", { class: "name" }, keyOf(card.first)), element("div", { class: "name" }, keyOf(card.other[0])));
  const side = (pieces, name, mark) =>
    element("div", { class: `text ${name}` }, ...pieces.map(([changed, text]) => (changed ? element(mark, {}, text) : text)));
  for (const [skipped, left, right] of card.diff.parts) {
    if (skipped > 0) box.append(element("div", { class: "gap" }, `${plural(skipped, "equal word")} left out`));
    if (left.length + right.length > 0) box.append(side(left, "left", "del"), side(right, "right", "ins"));
  }
  const notes = [];
  if (card.diff.parts.length === 1 && card.diff.parts[0][1].length === 0) notes.push("The words are equal.");
  if (card.diff.more > 0) notes.push(`${plural(card.diff.more, "further difference")} left out.`);
  if (card.diff.cut) notes.push(`Only the first ${whole(card.diff.cut)} bytes of each text were compared here.`);
  return [box, ...notes.map((text) => element("p", { class: "note" }, text))];
}

function showCards(id, cards, title) {
  if (cards.length === 0) return;
  at(id).hidden = false;
  at(`${id}-title`).textContent = title;
  cards.forEach((card, i) => {
    const head = element("summary", {}, keyOf(card.first), element("span", { class: "size" }, sizeOf(card.size)),
      element("span", { class: "value" }, similarityOf(card.other)));
    const inside = element("div", { class: "inside" });
    const made = element("details", { class: "card", "data-number": card.number }, head, inside);
    // Differences are put into the document when they are looked at.
    const fill = () => {
      if (!made.open || inside.firstChild) return;
      inside.append(...(card.diff ? diffOf(card) : [element("p", { class: "note" }, summary.noTexts)]));
    };
    made.addEventListener("toggle", fill);
    at(id).append(made);
    if (i === 0 && card.diff) { made.open = true; fill(); }
  });
}

// The list of all groups

let shown = groups;
let page = 0;
let texts = null;

/** The keys of every group in lower case, made at the first search. */
function searchTexts() {
  texts ??= new Map(groups.map((group) => [group, group[3].map((member) => keyText(member[0])).join("\n").toLowerCase()]));
  return texts;
}

function filter() {
  const wanted = at("search").value.trim().toLowerCase();
  const least = Number(at("least").value) || 0;
  const below = at("below").value === "" ? Infinity : Number(at("below").value);
  const size = (group) => (summary.group === "query" ? group[1] - 1 : group[1]);
  const found = wanted === "" ? null : searchTexts();
  shown = groups.filter((group) => size(group) >= least && (below === Infinity || (group[2] !== null && group[2] <= below))
    && (found === null || found.get(group).includes(wanted)));
  const order = at("order").value;
  if (order === "size") shown.sort((a, b) => b[1] - a[1]);
  if (order === "low") shown.sort((a, b) => (a[2] ?? 2) - (b[2] ?? 2));
  if (order === "high") shown.sort((a, b) => (b[2] ?? -2) - (a[2] ?? -2));
  show(0);
}

function membersOf(group) {
  const [, size, , members] = group;
  const head = ["key", summary.measure, ""].map((name) => element("th", { scope: "col" }, name));
  const table = element("table", {}, element("tr", {}, ...head));
  for (const member of members) {
    const similarity = member[1] === null ? (summary.group === "query" ? "query" : "first") : similarityOf(member);
    table.append(element("tr", {}, element("td", { class: "key" }, keyOf(member[0])),
      element("td", { class: "number" }, similarity), element("td", {}, ...tags(member[2]))));
  }
  const more = size - members.length;
  const note = `${plural(more, "further member")} ${more === 1 ? "is" : "are"} not listed here.`;
  return more > 0 ? [table, element("p", { class: "note" }, note)] : [table];
}

function rowOf(group) {
  const [number, size, lowest, members] = group;
  const value = lowest === null ? "" : lowest.toFixed(3);
  const inside = element("div", { class: "inside" });
  const row = element("details", { class: "row", "data-number": number },
    element("summary", {}, keyOf(members[0][0]), element("span", { class: "size" }, sizeOf(size)), element("span", { class: "value" }, value)), inside);
  row.addEventListener("toggle", () => { if (row.open && !inside.firstChild) inside.append(...membersOf(group)); });
  return row;
}

function show(number) {
  const pages = Math.max(1, Math.ceil(shown.length / PAGE_ROWS));
  page = Math.min(Math.max(0, number), pages - 1);
  const start = page * PAGE_ROWS;
  at("rows").replaceChildren(...shown.slice(start, start + PAGE_ROWS).map(rowOf));
  at("page").value = page + 1;
  at("page").max = pages;
  at("last-page").textContent = `of ${whole(pages)}`;
  at("first").disabled = at("previous").disabled = page === 0;
  at("next").disabled = at("last").disabled = page === pages - 1;
  const unlisted = summary.groups - summary.listed;
  const end = Math.min(start + PAGE_ROWS, shown.length);
  const place = shown.length === 0 ? "nothing to show" : `${whole(start + 1)} to ${whole(end)} of ${whole(shown.length)}`;
  const of = shown.length < groups.length ? `, filtered from ${whole(groups.length)}` : "";
  const rest = unlisted > 0 ? `; ${whole(unlisted)} further ones are counted above and not listed` : "";
  at("count").textContent = upper(place + of + rest);
  at("pages").hidden = pages === 1;
}

// Theme

const dark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => at("theme").setAttribute("aria-pressed", String(isDark()));
at("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
dark.addEventListener("change", nameTheme);
nameTheme();

const things = plain(2, summary.group);
showCards("doubtful", summary.doubtful, `Most doubtful ${things}`);
showCards("largest", summary.largest, summary.group === "query" ? "Queries with the most matches" : `Largest ${things}`);
if (summary.group === "query") {
  at("largest-note").textContent = "Each is shown with its least similar match.";
  at("least-name").textContent = "Least matches";
  at("most").textContent = "most matches first";
}
at("all-title").textContent = `All ${things}`;
at("skip").textContent = `Skip to the list of ${things}`;
if (summary.groups === 0) {
  at("filters").hidden = at("charts").hidden = true;
  at("count").textContent = `No ${things} were found.`;
  at("pages").hidden = true;
} else {
  sizesChart();
  if (summary.pairs > 0) similaritiesChart();
  curveChart();
  for (const id of ["search", "least", "below", "order"]) at(id).addEventListener("input", filter);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("filters").addEventListener("reset", () => setTimeout(filter));
  at("first").addEventListener("click", () => show(0));
  at("previous").addEventListener("click", () => show(page - 1));
  at("next").addEventListener("click", () => show(page + 1));
  at("last").addEventListener("click", () => show(Infinity));
  at("page").addEventListener("change", () => show((Number(at("page").value) || 1) - 1));
  show(0);
}
document.documentElement.dataset.ready = "yes";
