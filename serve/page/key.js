// Asks for the key of the server.

import {element} from "./dom.js";

// Returns null if the person has none.
export function ask_for_key(why) {
  const dialog = element("key"), text = element("key-text");
  element("key-why").textContent = why;
  text.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  text.focus();
  element("key-cancel").onclick = () => dialog.close("");
  return new Promise(resolve => {
    const form = dialog.querySelector("form");
    form.onsubmit = event => { event.preventDefault(); dialog.close(text.value.trim()); };
    dialog.onclose = () => {
      resolve(dialog.returnValue || null);
      dialog.returnValue = text.value = "";
    };
  });
}
