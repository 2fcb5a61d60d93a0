// What has been proved of the kernels of the models that are served, as the server says it at /status.

import {element, icon, make} from "./dom.js";
import {key} from "./server.js";

// Of a variant of a layer on this device.
function verdict(proof) {
  if (proof.why) return {text: "barred: " + proof.why, style: "bad"};
  if (proof.admitted) return {text: "proved", style: "good"};
  if (proof.tried === proof.cases) return {text: "no case can run here", style: "quiet"};
  return {text: proof.of_models ? "proved at the models’ sizes; the rest in the background" : "not yet", style: "quiet"};
}

// The button at the top: what holds for the kernels that the model runs with.
export function show_proof_of(model) {
  const button = element("proof");
  button.hidden = !model;
  if (!model) return;
  const used = model.proved.filter(each => each.of_models > 0 || each.why), barred = used.filter(each => each.why).length;
  const count = barred || used.length;
  const words = [[count], [count === 1 ? "kernel" : "kernels", "wide"], [barred ? "barred" : "proved"]];
  button.replaceChildren(icon(barred ? "close" : "check"), ...(count ? words : [["References"]]).map(
    ([text, style]) => make("span", {class: style}, String(text))));
  button.classList.toggle("bad", barred > 0);
}

export function device_in_words({device, version}) {
  return [device.id, device.name, device.driver, "Lamina " + version].filter(Boolean).join(" · ");
}

function table_of(proofs) {
  const head = make("tr", {}, ...["layer", "kernel", "verdict", "models’ sizes", "declared cases"].map(name => make("th", {scope: "col"}, name)));
  const rows = proofs.map(proof => {
    const {text, style} = verdict(proof);
    return make("tr", {}, make("td", {}, proof.layer), make("td", {}, proof.variant), make("td", {class: style}, text),
                make("td", {class: "right"}, String(proof.of_models)), make("td", {class: "right"}, `${proof.passed} of ${proof.cases}`));
  });
  return make("div", {class: "table", tabindex: "0", role: "group", "aria-label": "Kernels"},
              make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function model_entry(model, open) {
  const paths = [...model.endpoints, ...model.graphs.map(graph => `/v2/models/${graph}/infer`)];
  return make("details", {open},
              make("summary", {}, make("b", {}, model.name), ` ${model.parameters.toLocaleString("en")} parameters`),
              make("p", {class: "note"}, "Can be asked at ", ...paths.flatMap((path, i) => [i ? ", " : "", make("code", {}, path)]), "."),
              model.proved.length ? table_of(model.proved) : make("p", {}, "Its layers run their references here, so there is nothing to prove."));
}

// `name`: the model whose table is open.
export function show_proofs(status, name) {
  element("proofs-device").textContent = device_in_words(status);
  element("proofs-models").replaceChildren(...status.models.map(model => model_entry(model, model.name === name)));
  element("metrics").hidden = Boolean(key.get()); // which a link does not send
  const dialog = element("proofs");
  if (!dialog.open) dialog.showModal();
}
