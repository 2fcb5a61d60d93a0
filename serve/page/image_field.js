// The images of the message that is being written: chosen, pasted or dropped.

import {element, icon_button, make, toast} from "./dom.js";
import {read_image} from "./images.js";
import {picture} from "./pictures.js";

const has_files = event => event.dataTransfer.types.includes("Files");

export class ImageField {
  // `changed()` when there are others.
  constructor(changed) {
    this.changed = changed;
    this.most = 0; // that a message may have
    this.list = [];
    this.reading = 0; // files, one after the other
    const chosen = element("image-files"), room = document.querySelector("main");
    element("add-images").addEventListener("click", () => chosen.click());
    chosen.addEventListener("change", () => {
      void this.add([...chosen.files]);
      chosen.value = ""; // so that the same files may be chosen again
    });
    // What is copied from a document is its text, and a picture of that beside it.
    element("text").addEventListener("paste", event => {
      const {files, types} = event.clipboardData;
      if (!files.length || types.includes("text/plain")) return;
      event.preventDefault();
      void this.add([...files]);
    });
    room.addEventListener("dragover", event => {
      if (!has_files(event)) return;
      event.preventDefault(); // or the browser would leave the page for the file
      event.dataTransfer.dropEffect = this.most ? "copy" : "none";
      room.classList.toggle("dropping", this.most > 0);
    });
    room.addEventListener("dragleave", event => { if (!room.contains(event.relatedTarget)) room.classList.remove("dropping"); });
    room.addEventListener("drop", event => {
      room.classList.remove("dropping");
      if (!has_files(event)) return;
      event.preventDefault();
      void this.add([...event.dataTransfer.files]);
    });
  }

  // 0: the model of the chat takes none.
  allow(most) {
    this.most = most;
    element("add-images").hidden = !most;
    if (most || !this.list.length) return;
    this.set([]);
    toast("This model takes no images: those of your message were taken away.");
  }

  set(images) {
    this.list = [...images];
    this.reading = 0;
    this.show();
  }

  async add(files) {
    if (!this.most) return toast("This model takes no images.");
    const {list} = this; // which is another one when the chat is
    this.reading += files.length;
    for (const file of files) {
      this.show();
      try {
        if (list.length >= this.most) throw new Error(`A message may have at most ${this.most} images.`);
        list.push(await read_image(file));
      } catch (error) {
        toast(error.message);
      }
      if (list !== this.list) return;
      --this.reading;
    }
    this.show();
    element("text").focus();
  }

  remove(i) {
    this.list.splice(i, 1);
    this.show();
    const others = element("images").querySelectorAll(".icon-button");
    (others[Math.min(i, others.length - 1)] ?? element("text")).focus();
  }

  show() {
    const shown = element("images");
    shown.hidden = !this.list.length && !this.reading;
    shown.setAttribute("aria-busy", String(this.reading > 0));
    shown.replaceChildren(
      ...this.list.map((image, i) => make("li", {}, picture(image), icon_button("close", `Take ${image.name} away`, () => this.remove(i)))),
      ...Array.from({length: this.reading}, () => make("li", {class: "picture"})));
    this.changed();
  }
}
