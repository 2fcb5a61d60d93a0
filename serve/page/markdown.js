// Reads Markdown and makes elements of it. HTML in it stays text: nodes are made one by one, and links lead only to http
// and https. Pictures become links, because the page loads nothing from elsewhere.

import {copy, icon_button, make, toast} from "./dom.js";
import {inline} from "./markdown_inline.js";

const deepest = 8; // lists and quotes in each other; what is deeper is text

const fence_begin = /^( {0,3})(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const rule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const delimiter_row = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

const blank = line => !line.trim();
const starts_block = line => fence_begin.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line);

// The top blocks of a text: lists of lines. Each is whole in itself, so that while an answer grows only its last blocks
// are made again.
function split(lines, deep) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    if (blank(lines[at])) { ++at; continue; }
    const end = end_of_block(lines, at, deep);
    out.push(lines.slice(at, end));
    at = end;
  }
  return out;
}

function end_of_block(lines, begin, deep) {
  let at = begin + 1;
  const fence = fence_begin.exec(lines[begin]);
  if (fence) {
    const closes = line => line.trim().startsWith(fence[2]) && !line.trim().replaceAll(fence[2][0], "");
    while (at < lines.length && !closes(lines[at])) ++at;
    return Math.min(at + 1, lines.length);
  }
  if (heading.test(lines[begin]) || rule.test(lines[begin])) return at;
  if (deep < deepest && quote.test(lines[begin])) {
    while (at < lines.length && !blank(lines[at]) && (quote.test(lines[at]) || !starts_block(lines[at]))) ++at;
    return at;
  }
  if (deep < deepest && item.test(lines[begin])) return end_of_list(lines, begin);
  if (is_table(lines, begin)) {
    while (at < lines.length && !blank(lines[at]) && lines[at].includes("|")) ++at;
    return at;
  }
  while (at < lines.length && !blank(lines[at]) && !(deep < deepest && starts_block(lines[at])) && !is_table(lines, at)) ++at;
  return at;
}

// Items of another kind begin another list. A blank line ends one unless an item or an indented line follows.
function end_of_list(lines, begin) {
  const kind = kind_of(lines[begin]);
  let at = begin + 1;
  for (; at < lines.length; ++at) {
    const line = lines[at];
    if (blank(line)) {
      let next = at;
      while (next < lines.length && blank(lines[next])) ++next;
      if (next === lines.length || !(/^\s{2,}/.test(lines[next]) || kind_of(lines[next]) === kind)) return at;
      continue;
    }
    if (/^\s{2,}/.test(line)) continue;
    const found = kind_of(line);
    if (found ? found !== kind : starts_block(line)) return at;
  }
  return at;
}

function kind_of(line) {
  if (rule.test(line)) return "";
  const found = item.exec(line)?.[2];
  return !found ? "" : /\d/.test(found) ? found.at(-1) : found;
}

function is_table(lines, at) {
  return lines[at].includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && delimiter_row.test(lines[at + 1]) &&
    cells_of(lines[at]).length === cells_of(lines[at + 1]).length;
}

function cells_of(line) {
  const out = [""];
  const text = line.trim().replace(/^\|/, "");
  for (let i = 0; i < text.length; ++i) {
    if (text[i] === "\\" && text[i + 1] === "|") out[out.length - 1] += text[++i];
    else if (text[i] !== "|") out[out.length - 1] += text[i];
    else if (text.slice(i + 1).trim()) out.push("");
    else break;
  }
  return out.map(cell => cell.trim());
}

// ---- Elements of blocks ----

function code_block(lines) {
  const [, , mark, language] = fence_begin.exec(lines[0]);
  const closed = lines.length > 1 && lines.at(-1).trim().startsWith(mark);
  const text = lines.slice(1, closed ? -1 : undefined).join("\n");
  const button = icon_button("copy", "Copy the code", async () => {
    try { await copy(text); toast("Copied."); } catch (error) { toast(error.message); }
  });
  return make("figure", {class: "code"}, make("figcaption", {}, make("span", {}, language || "text"), button),
              make("pre", {tabindex: "0"}, make("code", {}, text)));
}

function table(lines) {
  const sides = cells_of(lines[1]).map(cell => /^:-*:$/.test(cell) ? "center" : cell.endsWith(":") ? "right" : "");
  const row = (line, tag) => {
    const cells = cells_of(line);
    return make("tr", {}, ...sides.map((side, i) => make(tag, {class: side || null}, ...inline(cells[i] ?? ""))));
  };
  return make("div", {class: "table", tabindex: "0", role: "group", "aria-label": "Table"},
              make("table", {}, make("thead", {}, row(lines[0], "th")), make("tbody", {}, ...lines.slice(2).map(line => row(line, "td")))));
}

function list(lines, deep) {
  const first = item.exec(lines[0]), ordered = /\d/.test(first[2]);
  const items = [];
  for (const line of lines) {
    const found = rule.test(line) ? null : item.exec(line);
    // An item that is indented as far as the text of the item before belongs to that.
    if (found && (items.length === 0 || found[1].length < items.at(-1).indent)) {
      items.push({indent: found[1].length + found[2].length + 1, lines: [line.slice(found[0].length)]});
      continue;
    }
    const {indent, lines: own} = items.at(-1);
    const spaces = /^\s*/.exec(line)[0].length;
    own.push(line.slice(Math.min(spaces, Math.max(2, indent))));
  }
  const loose = items.some(each => each.lines.some((line, i) => blank(line) && i + 1 < each.lines.length));
  return make(ordered ? "ol" : "ul", {start: ordered && parseInt(first[2]) !== 1 ? parseInt(first[2]) : null},
              ...items.map(each => list_item(each.lines, loose, deep)));
}

function list_item(lines, loose, deep) {
  const task = /^\[([ xX])\]\s+/.exec(lines[0]);
  if (task) lines = [lines[0].slice(task[0].length), ...lines.slice(1)];
  const children = split(lines, deep + 1).map(each => block(each, deep + 1));
  const out = make("li", {class: task ? "task" : null});
  if (task) {
    const box = make("input", {type: "checkbox", disabled: true});
    box.checked = task[1] !== " ";
    out.append(box);
  }
  for (const child of children)
    if (!loose && child.tagName === "P") out.append(...child.childNodes); else out.append(child);
  return out;
}

function block(lines, deep) {
  const [line] = lines;
  if (fence_begin.test(line)) return code_block(lines);
  const head = heading.exec(line);
  if (head) return make("h" + Math.min(6, head[1].length + 1), {}, ...inline(head[2])); // the page has the h1
  if (rule.test(line)) return make("hr");
  if (deep < deepest && quote.test(line)) {
    const inner = lines.map(each => each.replace(quote, ""));
    return make("blockquote", {}, ...split(inner, deep + 1).map(each => block(each, deep + 1)));
  }
  if (deep < deepest && item.test(line)) return list(lines, deep);
  if (is_table(lines, 0)) return table(lines);
  return make("p", {}, ...inline(lines.map(each => each.trim()).join("\n")));
}

const shown = new WeakMap(); // container -> the sources of its children

// Shows `text` in `container`. Of a text that grows, only what has changed is made again.
export function show_markdown(container, text) {
  const blocks = split(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"), 0);
  const sources = blocks.map(lines => lines.join("\n")), before = shown.get(container) ?? [];
  let same = 0;
  while (same < sources.length && sources[same] === before[same]) ++same;
  while (container.children.length > same) container.lastElementChild.remove();
  container.append(...blocks.slice(same).map(lines => block(lines, 0)));
  shown.set(container, sources);
}
