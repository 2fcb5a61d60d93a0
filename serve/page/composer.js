// The field for a message, with its buttons, its images and its file.

import {element} from "./dom.js";
import {ImageField} from "./image_field.js";

const tallest = 220; // pixels

export class Composer {
  // `sent(text, images, file)` when there is something to send, `stopped()`, `left_editing()`, and `picked(file)`, which says
  // whether the file is to be kept for the message.
  constructor({sent, stopped, left_editing, picked}) {
    this.text = element("text");
    this.file = null;
    this.busy = false;
    this.needs_file = false;
    this.images = new ImageField(() => this.fit());
    element("composer").addEventListener("submit", event => {
      event.preventDefault();
      if (this.may_send()) sent(this.text.value.trim(), this.images.list, this.file);
    });
    this.text.addEventListener("keydown", event => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      element("composer").requestSubmit();
    });
    this.text.addEventListener("input", () => this.fit());
    element("stop").addEventListener("click", stopped);
    element("stop-editing").addEventListener("click", left_editing);
    element("attach").addEventListener("click", () => element("file").click());
    element("detach").addEventListener("click", () => { this.keep(null); element("attach").focus(); });
    element("file").addEventListener("change", () => {
      const [file] = element("file").files;
      element("file").value = ""; // so that the same file may be chosen again
      if (file && picked(file)) this.keep(file);
    });
  }

  may_send() {
    if (this.busy || this.images.reading) return false;
    return this.needs_file ? this.file !== null : this.text.value.trim() !== "" || this.images.list.length > 0;
  }

  keep(file) {
    this.file = file;
    element("attachment").hidden = !file;
    element("attachment-name").textContent = file?.name ?? "";
    this.fit();
  }

  set(text) {
    this.text.value = text;
    this.fit();
  }

  clear() {
    this.set("");
    this.keep(null);
    this.images.set([]);
  }

  fit() {
    this.text.style.height = "auto";
    this.text.style.height = Math.min(this.text.scrollHeight, tallest) + "px";
    element("send").disabled = !this.may_send();
  }

  // `kind` of the model; `listens`: a file becomes text in the field; `most_images` of a message.
  show(kind, listens, most_images) {
    this.needs_file = Boolean(kind?.file);
    this.text.placeholder = kind?.prompt ?? "";
    this.text.disabled = this.needs_file;
    const attach = element("attach"), label = this.needs_file ? "Choose an audio file" : "Write down an audio file";
    attach.hidden = !this.needs_file && !listens;
    attach.setAttribute("aria-label", label);
    attach.title = label;
    if (!this.needs_file) this.keep(null);
    this.images.allow(most_images);
    this.fit();
  }

  set_busy(busy) {
    this.busy = busy;
    element("send").hidden = busy;
    element("stop").hidden = !busy;
    this.fit();
  }

  set_editing(editing) { element("editing").hidden = !editing; }
}
