// What was said in a chat, as the messages of a request.

import {url_of} from "./images.js";

const beside = 4096; // bytes of a request, for all that it has beside its messages

const bytes_of = value => new TextEncoder().encode(JSON.stringify(value)).length;
const sum = (list, number) => list.reduce((before, each) => before + number(each), 0);

// Images come first, as in what their models have learned from.
function content_of(text, urls) {
  if (!urls.length) return text;
  const images = urls.map(url => ({type: "image_url", image_url: {url}}));
  return text ? [...images, {type: "text", text}] : images;
}

// A question with its answer: {messages, bytes, images, lost}, where `lost` is the number of images that are not sent.
async function turn_of(question, answer, sees) {
  const images = [], urls = [];
  for (const image of question.images ?? []) {
    const url = sees ? await url_of(image) : null;
    if (!url) continue;
    images.push(image);
    urls.push(url);
  }
  const messages = [{role: "user", content: content_of(question.text, urls)}];
  if (answer) messages.push({role: "assistant", content: answer.text});
  return {messages, bytes: bytes_of(messages), images, lost: (question.images ?? []).length - images.length};
}

// A question without an answer is left out: most models expect the two in turns.
function turns_of({messages, sees}) {
  const out = [];
  messages.forEach((question, i) => {
    const answer = messages[i + 1];
    if (question.role === "user" && (!answer || answer.text)) out.push(turn_of(question, answer, sees));
  });
  return Promise.all(out);
}

function fit(turns, {body, images, pixels}) {
  const shown = turns.flatMap(turn => turn.images);
  return sum(turns, turn => turn.bytes) <= body && shown.length <= images && sum(shown, each => each.width * each.height) <= pixels;
}

export function note_of_left_out(count, why) {
  return `The chat is ${why}: its ${count === 1 ? "oldest message was" : count + " oldest messages were"} left out.`;
}

// Returns {messages, notes}: what the model is asked, and what the person must know of it. `chat` has beside what is kept
// of it `sees`, whether the model takes images, and `limits` of a request.
export async function history_of(chat) {
  const {settings, limits, sees} = chat, notes = [];
  const system = settings.system?.trim() ? [{role: "system", content: settings.system}] : [];
  const room = {...limits, body: limits.body - bytes_of(system) - beside};
  const turns = await turns_of(chat);
  let left_out = 0;
  while (!fit(turns, room)) {
    if (turns.length === 1 || settings.shorten === false)
      throw new Error(`This is more than the server takes at once: ${(limits.body / 2 ** 20).toFixed(1)} MiB with at most ${limits.images} images ` +
                      `of ${Math.floor(limits.pixels / 1e6)} million pixels. Take some images away, or begin a new chat.`);
    left_out += turns.shift().messages.length;
  }
  if (left_out) notes.push(note_of_left_out(left_out, "larger than what the server takes at once"));
  const lost = sum(turns, turn => turn.lost), [count, them] = lost === 1 ? ["one image", "it"] : [lost + " images", "them"];
  if (lost) notes.push(sees ? `This browser no longer has ${count} of this chat: the model was asked without ${them}.`
                            : `${chat.model} takes no images: it was asked without ${count}.`);
  return {messages: [...system, ...turns.flatMap(turn => turn.messages)], notes};
}
