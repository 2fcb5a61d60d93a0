// The drawer with the settings of a chat. What it says is kept with the chat, and new chats begin with it.

import {element} from "./dom.js";
import {usual_length} from "./kinds.js";
import {ask_json, key} from "./server.js";

const numbers = ["temperature", "top_p", "max_tokens", "seed"];
const field = name => element("settings").querySelector(`[name="${name}"]`);

// `changed(settings)` is called while the drawer is open, `delete_all()` when that button is pressed.
export function wire_settings(changed, delete_all) {
  const dialog = element("settings");
  dialog.addEventListener("input", () => changed(settings()));
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); }); // beside the drawer
  element("settings-reset").addEventListener("click", () => {
    for (const name of numbers) field(name).value = "";
    field("thinking").value = "";
    field("shorten").checked = true;
    changed(settings());
  });
  element("forget-key").addEventListener("click", () => {
    key.forget();
    element("forget-key").hidden = true;
  });
  element("delete-all").addEventListener("click", () => {
    dialog.close();
    delete_all();
  });
}

function settings() {
  const out = {system: field("system").value, thinking: field("thinking").value, shorten: field("shorten").checked};
  for (const name of numbers) {
    const {value, validity} = field(name);
    if (value !== "" && validity.valid) out[name] = Number(value);
  }
  return out;
}

export function open_settings(chat, model) {
  for (const name of ["system", "thinking", ...numbers]) field(name).value = chat.settings[name] ?? "";
  field("shorten").checked = chat.settings.shorten !== false;
  element("forget-key").hidden = !key.get();
  for (const name of numbers) field(name).placeholder = "";
  field("seed").placeholder = "random";
  field("max_tokens").placeholder = usual_length(model.longest);
  element("settings-context").textContent = `A chat with ${model.name} may have ${model.longest.toLocaleString("en")} tokens.`;
  element("settings").showModal();
  void show_suggestions(model.name);
}

// What the model's makers suggest stands in the empty fields.
async function show_suggestions(model) {
  try {
    const {default_generation_settings: {params}} = await ask_json("props?model=" + encodeURIComponent(model));
    for (const name of ["temperature", "top_p"]) field(name).placeholder = params[name] ?? "";
  } catch { /* the fields say enough without */ }
}
