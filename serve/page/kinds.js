// What models can be asked, and how. The first kind that a model's endpoints have is the one that it is used for here.

import {history_of, note_of_left_out} from "./history.js";
import {ask, ask_json, events} from "./server.js";

// The most tokens of an answer, where the settings say nothing: longer than programs need it, because a person reads it
// as it comes, and can stop it.
export const usual_length = longest => Math.max(1, Math.floor(longest / 4));

// What the request has, beside the messages, of the settings of a chat.
function numbers_of({settings: {temperature, top_p, max_tokens, seed}, longest}) {
  max_tokens ??= usual_length(longest);
  const out = {};
  for (const [name, value] of Object.entries({temperature, top_p, max_tokens, seed}))
    if (value !== undefined && value !== null && value !== "") out[name] = Number(value);
  return out;
}

function* parts_of(event) {
  if (event.usage) yield {usage: event.usage};
  for (const {delta, text, finish_reason: reason} of event.choices ?? []) {
    if (delta?.reasoning_content) yield {thought: delta.reasoning_content};
    if (delta?.content) yield {text: delta.content};
    if (text) yield {text};
    if (reason === "length") yield {note: "The answer was cut off: it has as many tokens as it may have."};
  }
}

// Each part of an answer as it comes: {text}, {thought}, {note} or {usage}.
async function* chat_answer(chat, signal) {
  const {settings} = chat, {messages, notes} = await history_of(chat);
  for (const note of notes) yield {note};
  const body = {model: chat.model, messages, stream: true, stream_options: {include_usage: true}, ...numbers_of(chat)};
  body.truncation = settings.shorten === false ? "disabled" : "auto";
  if (settings.thinking === "off") body.chat_template_kwargs = {enable_thinking: false};
  const response = await ask("v1/chat/completions", body, signal);
  const left_out = Number(response.headers.get("Lamina-Messages-Left-Out") ?? 0);
  if (left_out) yield {note: note_of_left_out(left_out, "longer than the model can read")};
  for await (const event of events(response)) yield* parts_of(event);
}

async function* continued(chat, signal) {
  const prompt = chat.messages.at(-1).text;
  const body = {model: chat.model, prompt, stream: true, stream_options: {include_usage: true}, ...numbers_of(chat)};
  for await (const event of events(await ask("v1/completions", body, signal))) yield* parts_of(event);
}

async function* transcript(chat, signal, file) {
  yield {text: await transcribed(chat.model, file, signal)};
}

async function* vector(chat, signal) {
  const {data: [{embedding}], usage} = await ask_json("v1/embeddings", {model: chat.model, input: chat.messages.at(-1).text}, signal);
  yield {text: `${embedding.length} numbers:\n\n\`\`\`numbers\n${embedding.map(each => each.toPrecision(4)).join(" ")}\n\`\`\``};
  yield {usage};
}

// A text that Markdown shows as it is.
const literal = text => text.replace(/[!-/:-@[-`{-~]/g, "\\$&").replace(/\s+/g, " ");

async function* ranks(chat, signal) {
  const [query, ...documents] = chat.messages.at(-1).text.split("\n").filter(line => line.trim());
  if (documents.length === 0) throw new Error("Write the question into the first line, and a text to be ranked into each of the others.");
  const {results, usage} = await ask_json("v1/rerank", {model: chat.model, query, documents, return_documents: true}, signal);
  yield {text: "| score | text |\n| ---: | --- |\n" + results.map(each => `| ${each.relevance_score.toPrecision(4)} | ${literal(each.document.text)} |`).join("\n")};
  yield {usage};
}

// How many tokens an answer has that was stopped: nobody has said so.
export async function count_tokens({model, text, thought}) {
  const {count} = await ask_json("tokenize", {model, content: (thought ?? "") + text});
  return {completion_tokens: count};
}

export const kinds = [
  {endpoint: "/v1/chat/completions", group: "Chat", prompt: "Write a message", greeting: "What is on your mind?", answer: chat_answer,
   settings: true, images: true},
  {endpoint: "/v1/audio/transcriptions", group: "Transcribe", prompt: "Choose an audio file", greeting: "Which recording shall I write down?",
   answer: transcript, file: true},
  {endpoint: "/v1/completions", group: "Continue a text", prompt: "Begin a text", greeting: "How does the text begin?", answer: continued,
   settings: true, plain: true},
  {endpoint: "/v1/rerank", group: "Rank texts", prompt: "A question, then a text in each line", greeting: "Which text answers a question?",
   answer: ranks},
  {endpoint: "/v1/embeddings", group: "Make vectors", prompt: "Write a text", greeting: "Which text shall become a vector?", answer: vector},
];

export function kind_of(model) { return kinds.find(kind => model?.endpoints.includes(kind.endpoint)); }

export async function transcribed(model, file, signal) {
  const form = new FormData();
  form.set("model", model);
  form.set("file", file);
  return (await ask_json("v1/audio/transcriptions", form, signal)).text.trim();
}
