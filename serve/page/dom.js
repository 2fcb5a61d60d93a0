// Makes elements. Texts become text nodes and attributes are from a list, so nothing that a model or a person has
// written is ever read as HTML.

const svg = "http://www.w3.org/2000/svg";

export const element = id => document.getElementById(id);

// make("a", {class: "link", href}, "text", another) -> the element
export function make(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "click") out.addEventListener("click", value);
    else out.setAttribute(name, value === true ? "" : value);
  }
  out.append(...children.filter(child => child !== undefined && child !== null));
  return out;
}

// One of the symbols at the top of index.html.
export function icon(name) {
  const out = document.createElementNS(svg, "svg"), use = document.createElementNS(svg, "use");
  out.setAttribute("class", "icon");
  out.setAttribute("aria-hidden", "true");
  use.setAttribute("href", "#icon-" + name);
  out.append(use);
  return out;
}

export function icon_button(name, label, click) {
  return make("button", {type: "button", class: "icon-button", "aria-label": label, title: label, click}, icon(name));
}

// Pages that are not from this machine and have no TLS may not use the clipboard's own interface.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = make("textarea", {class: "hidden", readonly: true});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("This browser does not let the page copy.");
}

let hiding;

// Says something in passing; `action`, such as {name: "Undo", run}, is a button beside it.
export function toast(text, action) {
  clearTimeout(hiding);
  element("toast-text").textContent = text;
  const button = element("toast-action");
  button.hidden = !action;
  button.textContent = action?.name ?? "";
  button.onclick = () => { element("toast").hidden = true; action.run(); };
  element("toast").hidden = false;
  hiding = setTimeout(() => { element("toast").hidden = true; }, 8000);
}
