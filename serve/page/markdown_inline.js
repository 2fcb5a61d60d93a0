// What is in a line of Markdown: emphasis, code, links. Returns nodes, never HTML.

import {make} from "./dom.js";

const deepest = 6; // emphasis in emphasis
const special = /[\\`*_~[!h\n]/g;
const marks = ["***", "**", "*", "___", "__", "_", "~~"];
const tags = {"*": ["em"], _: ["em"], "**": ["strong"], __: ["strong"], "***": ["strong", "em"], ___: ["strong", "em"], "~~": ["del"]};
const letter = /[\p{L}\p{N}]/u;

// The address if a page may lead there, or null.
export function safe_address(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

function link(address, children) {
  return make("a", {href: address, target: "_blank", rel: "noopener noreferrer nofollow"}, ...children);
}

// `[text](address "title")` at `at`, where "[" is: its parts and its end, or null.
function link_at(text, at) {
  let open = 0, end = at;
  for (const most = Math.min(text.length, at + 1000); end < most; ++end) {
    if (text[end] === "\\") ++end;
    else if (text[end] === "[") ++open;
    else if (text[end] === "]" && --open === 0) break;
  }
  if (open !== 0 || text[end + 1] !== "(") return null;
  const rest = /^\(\s*<?((?:[^\s()<>]|\([^\s()<>]*\)){0,2000})>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(text.slice(end + 1, end + 3000));
  return rest && {inner: text.slice(at + 1, end), address: rest[1], end: end + 1 + rest[0].length};
}

// A bare address, without the punctuation that ends a sentence.
function address_at(text, at) {
  const found = /^https?:\/\/[^\s<>"`]+/.exec(text.slice(at, at + 2000))?.[0];
  if (!found) return null;
  let out = found.replace(/[.,:;!?'*_~]+$/, "");
  while (out.endsWith(")") && (out.match(/\)/g)?.length ?? 0) > (out.match(/\(/g)?.length ?? 0)) out = out.slice(0, -1);
  return out;
}

// Where `mark` closes that opens before `from`, or -1.
function closing(text, from, mark) {
  const [sign] = mark;
  for (let i = from; i < text.length; ++i) {
    if (text[i] === "\\") { ++i; continue; }
    if (text[i] === "`") { // marks in code are none
      const ticks = /^`+/.exec(text.slice(i, i + 100))[0], end = text.indexOf(ticks, i + ticks.length);
      i = (end < 0 ? i : end) + ticks.length - 1;
      continue;
    }
    if (text[i] !== sign) continue;
    let run = 1;
    while (text[i + run] === sign) ++run;
    const right = !/\s/.test(text[i - 1] ?? " ") && !(sign === "_" && letter.test(text[i + run] ?? " "));
    if (right && run >= mark.length && (run === mark.length || run > 2) && i > from) return i + run - mark.length;
    i += run - 1;
  }
  return -1;
}

// A reader of one line. Marks that do not close are not looked for again, so time stays in step with the text.
class Reader {
  constructor(text, deep) {
    this.text = text;
    this.deep = deep;
    this.out = [];
    this.plain = "";
    this.never = new Set();
  }

  add(node) {
    if (this.plain) this.out.push(document.createTextNode(this.plain));
    this.plain = "";
    this.out.push(node);
  }

  inner(text) { return new Reader(text, this.deep + 1).read(); }

  read() {
    const {text} = this;
    for (let at = 0; at < text.length;) {
      special.lastIndex = at;
      const next = special.exec(text)?.index ?? text.length;
      this.plain += text.slice(at, next);
      at = next;
      if (at >= text.length) break;
      const after = this.special_at(at);
      if (after > at) { at = after; continue; }
      const run = /^([*_~`])\1*/.exec(text.slice(at, at + 1000))?.[0].length ?? 1; // a mark that means nothing
      this.plain += text.slice(at, at + run);
      at += run;
    }
    if (this.plain) this.out.push(document.createTextNode(this.plain));
    return this.out;
  }

  // Where what begins at `at` ends; `at` if nothing does.
  special_at(at) {
    const {text} = this;
    switch (text[at]) {
    case "\n":
      this.add(make("br"));
      return at + 1;
    case "\\":
      if (!/[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) return at;
      this.plain += text[at + 1];
      return at + 2;
    case "`":
      return this.code(at);
    case "[":
    case "!":
      return this.deep < deepest ? this.link(at) : at;
    case "h":
      return this.bare_link(at);
    default:
      return this.deep < deepest ? this.emphasis(at) : at;
    }
  }

  code(at) {
    const ticks = /^`+/.exec(this.text.slice(at, at + 100))[0];
    if (this.never.has(ticks)) return at;
    let end = at + ticks.length;
    for (;; ++end) {
      end = this.text.indexOf(ticks, end);
      if (end < 0) { this.never.add(ticks); return at; }
      if (this.text[end + ticks.length] !== "`") break;
      while (this.text[end + ticks.length] === "`") ++end;
    }
    const code = this.text.slice(at + ticks.length, end).replaceAll("\n", " ");
    this.add(make("code", {}, /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code));
    return end + ticks.length;
  }

  link(at) {
    const picture = this.text[at] === "!";
    if (picture && this.text[at + 1] !== "[") return at;
    const found = link_at(this.text, at + (picture ? 1 : 0)), address = found && safe_address(found.address);
    if (!address) return at;
    this.add(link(address, picture ? [found.inner || address] : this.inner(found.inner)));
    return found.end;
  }

  bare_link(at) {
    if (letter.test(this.text[at - 1] ?? " ")) return at;
    const found = address_at(this.text, at), address = found && safe_address(found);
    if (!address) return at;
    this.add(link(address, [found]));
    return at + found.length;
  }

  emphasis(at) {
    const {text} = this;
    const mark = marks.find(each => text.startsWith(each, at));
    if (!mark || this.never.has(mark) || text[at + mark.length] === mark[0]) return at;
    if (/\s/.test(text[at + mark.length] ?? " ") || (mark[0] === "_" && letter.test(text[at - 1] ?? " "))) return at;
    const end = closing(text, at + mark.length, mark);
    if (end < 0) { this.never.add(mark); return at; }
    let node = this.inner(text.slice(at + mark.length, end));
    for (const tag of tags[mark].toReversed()) node = [make(tag, {}, ...node)];
    this.add(node[0]);
    return end + mark.length;
  }
}

export function inline(text) { return new Reader(text, 0).read(); }
