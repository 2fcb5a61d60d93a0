// The list of chats. On a narrow screen it lies over the chat, and is shut away after a choice.

import {all_chats} from "./chats.js";
import {element, icon_button, make} from "./dom.js";

const wide = matchMedia("(min-width: 56rem)");

function show(open) {
  document.body.classList.toggle("with-sidebar", open);
  document.body.classList.toggle("without-sidebar", !open);
  element("shade").hidden = !open || wide.matches;
  document.querySelector("main").inert = open && !wide.matches; // it lies below
  element("sidebar").inert = !open;
  element("show-sidebar").setAttribute("aria-expanded", String(open));
}

const is_open = () => document.body.classList.contains("with-sidebar");

// Returns whether there was something to shut.
export function shut_if_narrow() {
  if (wide.matches || !is_open()) return false;
  show(false);
  element("show-sidebar").focus();
  return true;
}

export function wire_sidebar() {
  show(wide.matches);
  wide.addEventListener("change", () => show(wide.matches));
  element("show-sidebar").addEventListener("click", () => { show(!is_open()); if (is_open()) element("new-chat").focus(); });
  element("hide-sidebar").addEventListener("click", () => { show(false); element("show-sidebar").focus(); });
  element("shade").addEventListener("click", shut_if_narrow);
}

// `open(id)` and `remove(chat)` are what its buttons do.
export function show_chats(current, {open, remove}) {
  element("chats").replaceChildren(...all_chats().map(chat => make(
    "li", {class: chat.id === current ? "current" : null},
    make("button", {type: "button", class: "chat", "aria-current": chat.id === current ? "true" : null, title: chat.title,
                    click: () => open(chat.id)}, chat.title || "Untitled"),
    icon_button("bin", `Delete “${chat.title}”`, () => remove(chat)))));
}
