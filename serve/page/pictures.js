// Small pictures of images, which open larger.

import {element, make} from "./dom.js";
import {url_of} from "./images.js";

function show_large({name}, url) {
  element("picture-title").textContent = name;
  Object.assign(element("picture-image"), {src: url, alt: name});
  element("picture").showModal();
}

export function picture(image) {
  const {name, width, height} = image, shown = make("img", {alt: "", width, height, draggable: "false"});
  const button = make("button", {type: "button", class: "picture", "aria-label": `Show ${name} larger`, title: name,
                                 click: () => show_large(image, shown.src)}, shown);
  void url_of(image).then(url => {
    if (url) shown.src = url;
    else button.replaceWith(make("span", {class: "picture gone"}, `${name} is no longer kept in this browser`));
  });
  return button;
}

export function wire_pictures() {
  const dialog = element("picture");
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); }); // beside it
  dialog.addEventListener("close", () => element("picture-image").removeAttribute("src"));
}
