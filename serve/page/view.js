// Shows the messages of a chat.

import {copy, element, icon, icon_button, make, toast} from "./dom.js";
import {show_markdown} from "./markdown.js";
import {picture} from "./pictures.js";

const number = value => value.toLocaleString("en");
const seconds = value => value < 10 ? value.toFixed(1) : value.toFixed(0);

// "42 tokens, 18.3 a second"
function stats_of({usage, first, last, begun}) {
  const out = [], tokens = usage?.completion_tokens ?? 0;
  if (tokens) out.push(tokens === 1 ? "1 token" : number(tokens) + " tokens");
  // The first token is there when this time begins.
  if (tokens > 1 && last > first) out.push(((tokens - 1) / ((last - first) / 1000)).toFixed(1) + " a second");
  if (first && begun) out.push(`first after ${seconds((first - begun) / 1000)} s`);
  if (usage?.prompt_tokens) {
    const known = usage.prompt_tokens_details?.cached_tokens;
    out.push(`${number(usage.prompt_tokens)} read` + (known ? `, ${number(known)} of them known` : ""));
  }
  return out.join(" · ");
}

function copy_button(text) {
  const button = icon_button("copy", "Copy", async () => {
    try {
      await copy(text());
      button.replaceChildren(icon("check"));
      setTimeout(() => button.replaceChildren(icon("copy")), 1500);
    } catch (error) {
      toast(error.message);
    }
  });
  return button;
}

// The element of a message, and show(), which brings it up to date. `actions`: {edit, again}, for the last ones.
class MessageView {
  constructor(message, plain, actions) {
    this.message = message;
    this.plain = plain;
    this.body = make("div", {class: "body"});
    this.foot = make("div", {class: "foot"});
    this.node = make("article", {class: "message " + message.role, "aria-label": message.role === "user" ? "You" : message.model || "Answer"});
    if (message.role === "assistant") {
      this.thought_body = make("div", {class: "body"});
      this.thought_name = make("summary", {});
      this.thought = make("details", {class: "thought"}, this.thought_name, this.thought_body);
      this.notes = make("div", {class: "notes"});
      this.node.append(this.thought);
    }
    if (message.images) this.node.append(make("div", {class: "pictures"}, ...message.images.map(picture)));
    this.node.append(this.body);
    if (this.notes) this.node.append(this.notes);
    this.node.append(this.foot);
    this.show(actions);
  }

  show(actions = {}) {
    const {message, node} = this;
    node.setAttribute("aria-busy", String(Boolean(message.writing)));
    node.classList.toggle("writing", Boolean(message.writing));
    if (message.role === "user") return this.show_question(actions);
    this.thought.hidden = !message.thought;
    if (message.thought) {
      this.thought_name.textContent = message.writing && !message.text ? "Thinking…" : "What it thought";
      show_markdown(this.thought_body, message.thought);
    }
    if (this.plain) this.body.textContent = message.text;
    else show_markdown(this.body, message.text);
    this.body.classList.toggle("plain", Boolean(this.plain));
    this.body.hidden = !message.text;
    this.notes.replaceChildren(...(message.notes ?? []).map(note => make("p", {class: "note"}, note)));
    if (message.error) this.notes.append(make("p", {class: "error", role: "alert"}, message.error));
    if (message.stopped && !message.error) this.notes.append(make("p", {class: "note"}, "Stopped."));
    this.show_foot(actions);
  }

  show_question({edit}) {
    const {message} = this;
    this.body.textContent = message.text;
    this.body.hidden = !message.text && !message.file;
    if (message.file) this.body.replaceChildren(icon("audio"), message.file);
    this.foot.replaceChildren();
    if (message.text) this.foot.append(copy_button(() => message.text));
    if (edit) this.foot.append(icon_button("edit", "Change this message", edit));
  }

  show_foot({again}) {
    const {message} = this;
    this.foot.replaceChildren();
    if (message.writing) {
      if (!message.text && !message.thought)
        this.foot.append(make("span", {class: "dots", role: "img", "aria-label": "The answer is on its way"}, make("i"), make("i"), make("i")));
      return;
    }
    if (message.text) this.foot.append(copy_button(() => message.text));
    if (again) this.foot.append(icon_button("again", "Answer again", again));
    const stats = stats_of(message);
    if (stats) this.foot.append(make("span", {class: "stats"}, stats));
  }
}

const near = 80; // pixels from the end that count as there

export class ConversationView {
  constructor() {
    this.views = [];
    this.follows = true; // the end, while an answer grows
    const box = element("scroll"), to_end = element("to-end");
    box.addEventListener("scroll", () => {
      this.follows = box.scrollHeight - box.scrollTop - box.clientHeight < near;
      to_end.hidden = this.follows;
    }, {passive: true});
    to_end.addEventListener("click", () => { this.follows = true; this.scroll(); });
    new ResizeObserver(() => this.scroll()).observe(box);
  }

  // `actions`: edit and again, of the last question and the last answer.
  show(chat, plain, actions) {
    this.views = chat.messages.map((message, i) => {
      const last = chat.messages.length - (message.role === "user" ? 2 : 1);
      return new MessageView(message, plain && message.role === "assistant", i >= last ? actions : {});
    });
    element("messages").replaceChildren(...this.views.map(view => view.node));
    element("welcome").hidden = chat.messages.length > 0;
    this.follows = true;
    this.scroll();
  }

  show_last(actions) {
    this.views.at(-1)?.show(actions);
    this.scroll();
  }

  scroll() {
    const box = element("scroll");
    if (this.follows) box.scrollTop = box.scrollHeight;
  }
}
