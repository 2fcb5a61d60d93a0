// The page of `lamina serve`: chats with its models.

import {fill} from "./answer.js";
import * as chats from "./chats.js";
import {Composer} from "./composer.js";
import {element, make, toast} from "./dom.js";
import {delete_all_but_those_of, keep_images} from "./images.js";
import {ask_for_key} from "./key.js";
import {count_tokens, kind_of, kinds, transcribed} from "./kinds.js";
import {wire_pictures} from "./pictures.js";
import {device_in_words, show_proof_of, show_proofs} from "./proofs.js";
import {NoKey, ask_for_keys_with, ask_json} from "./server.js";
import {open_settings, wire_settings} from "./settings.js";
import * as sidebar from "./sidebar.js";
import {ConversationView} from "./view.js";

let status = null;   // of the server: its device and models
let chat = null;     // that is shown
let writing = null;  // what stops the answer that is being written, or null
let editing = false; // the last question
let recording = null; // that is to be written down again

const view = new ConversationView();
const composer = new Composer({sent: send, stopped: stop, left_editing: leave_editing, picked: take_file});

const model_called = name => status?.models.find(model => model.name === name);
const current_kind = () => kind_of(model_called(chat.model));
const actions = () => writing || !status ? {} : {edit: edit_last, again: answer_again};
const hidden_tools = {open: open_chat, remove: remove_chat};

// ---- What is shown ----

function show_all() {
  const kind = current_kind();
  view.show(chat, kind?.plain, kind?.file ? {again: recording && answer_again} : actions());
  composer.show(kind, !kind?.file && Boolean(listener()), sees(model_called(chat.model)) ? status.limits.images : 0);
  composer.set_editing(editing);
  element("model").value = model_called(chat.model) ? chat.model : "";
  element("greeting").textContent = kind?.greeting ?? "There is no model to ask.";
  element("show-settings").hidden = !kind?.settings;
  show_proof_of(model_called(chat.model));
  sidebar.show_chats(chat.id, hidden_tools);
  document.title = chat.title ? `${chat.title} – Lamina` : "Lamina";
}

// The model that writes down recordings for the field, if there is one.
function listener() { return status?.models.find(model => model.endpoints.includes("/v1/audio/transcriptions")); }

// Whether the model takes images here.
function sees(model) { return Boolean(kind_of(model)?.images && model.modalities.vision); }

function show_models() {
  const groups = kinds.map(kind => {
    const models = status.models.filter(model => kind_of(model) === kind);
    return models.length ? make("optgroup", {label: kind.group}, ...models.map(model => make("option", {value: model.name}, model.name))) : null;
  });
  element("model").replaceChildren(...groups.filter(Boolean));
  element("device").textContent = device_in_words(status);
}

function keep() {
  const gone = chats.save(chat);
  if (gone > 0) toast(gone === 1 ? "The oldest chat was deleted to make room." : `The ${gone} oldest chats were deleted to make room.`);
  if (gone < 0) toast("This chat is too long to be kept in this browser.");
}

// ---- Answers ----

async function answer(file) {
  const kind = current_kind(), of = chat;
  if (!kind) return toast("The model of this chat is not served here. Choose another one.");
  const stopping = new AbortController();
  const model = model_called(of.model), asked = {longest: model.longest, sees: sees(model), limits: status.limits};
  const parts = kind.answer({...of, messages: [...of.messages], ...asked}, stopping.signal, file);
  const reply = {role: "assistant", text: kind.plain ? of.messages.at(-1).text : "", model: of.model, writing: true};
  of.messages.push(reply);
  writing = stopping;
  composer.set_busy(true);
  show_all();
  await fill(reply, parts, () => { if (chat === of) view.show_last(); });
  if (writing === stopping) {
    writing = null;
    composer.set_busy(false);
  }
  keep_answer(of);
  void load_status(); // more may have been proved by now
  if (!reply.stopped || !reply.first || kind.plain) return;
  reply.usage = await count_tokens(reply).catch(() => undefined);
  keep_answer(of);
}

function keep_answer(of) {
  if (chats.chat_called(of.id) || of === chat) chats.save(of); // or it has been deleted meanwhile
  if (chat === of && !writing) {
    show_last_messages();
    document.title = `${of.title} – Lamina`;
  }
  sidebar.show_chats(chat.id, hidden_tools);
}

function show_last_messages() {
  const kind = current_kind();
  view.show(chat, kind?.plain, kind?.file ? {again: recording && answer_again} : actions());
}

async function send(text, images, file) {
  if (editing) {
    chat.messages.splice(last_question());
    leave_editing();
  }
  recording = file;
  chat.messages.push({role: "user", text, ...images.length && {images}, ...file && {file: file.name}});
  composer.clear();
  keep();
  if (images.length) void keep_images(images).then(kept => { if (!kept) toast("This browser cannot keep the images: they are here until you close this page."); });
  await answer(file);
}

function stop() { writing?.abort(); }

function last_question() { return chat.messages.findLastIndex(each => each.role === "user"); }

async function answer_again() {
  chat.messages.splice(last_question() + 1);
  await answer(recording);
}

function edit_last() {
  editing = true;
  const {text, images = []} = chat.messages[last_question()];
  composer.set(text);
  composer.images.set(images);
  composer.set_editing(true);
  composer.text.focus();
}

function leave_editing() {
  if (!editing) return;
  editing = false;
  composer.clear();
  composer.set_editing(false);
  composer.text.focus();
}

// Of a model that transcribes, the message itself; for another one, words for the field.
function take_file(file) {
  if (current_kind()?.file) return true;
  void write_down(file);
  return false;
}

async function write_down(file) {
  toast(`${listener().name} writes down ${file.name}…`);
  element("attach").disabled = true;
  try {
    const words = await transcribed(listener().name, file);
    composer.set([composer.text.value.trim(), words].filter(Boolean).join(" "));
    toast(words ? "Written down." : "No words were heard.");
  } catch (error) {
    toast(error.message);
  }
  element("attach").disabled = false;
  composer.text.focus();
}

// ---- Chats ----

function change_to(other) {
  stop();
  editing = false;
  recording = null;
  chat = other;
  chats.remember("current", chat.id);
  composer.clear();
  show_all();
}

function begin_chat(model = chat?.model) {
  const known = model_called(model) ?? status?.models.find(each => kind_of(each)?.endpoint === kinds[0].endpoint) ??
    status?.models.find(each => kind_of(each));
  change_to(chats.new_chat(known?.name ?? "", chats.remembered("settings", {})));
}

function open_chat(id) {
  const found = chats.chat_called(id);
  if (found && id !== chat.id) change_to(found);
  sidebar.shut_if_narrow();
  composer.text.focus();
}

function remove_chat(removed) {
  chats.remove(removed.id);
  if (removed.id === chat.id) begin_chat();
  else sidebar.show_chats(chat.id, hidden_tools);
  tidy_soon();
  toast("The chat is deleted.", {name: "Undo", run: () => { chats.put_back(removed); sidebar.show_chats(chat.id, hidden_tools); }});
}

// Images of chats that are gone go, too, when nobody can take that back any more.
let tidying;
function tidy_soon() {
  clearTimeout(tidying);
  tidying = setTimeout(tidy, 10_000);
}
function tidy() { void delete_all_but_those_of(() => [...chats.all_chats(), chat]); }

function remove_all_chats() {
  const removed = chats.all_chats();
  chats.remove_all();
  begin_chat();
  tidy_soon();
  toast("All chats are deleted.", {name: "Undo", run: () => {
    removed.forEach(chats.put_back);
    sidebar.show_chats(chat.id, hidden_tools);
  }});
}

// ---- The server ----

async function load_status() {
  try {
    status = await ask_json("status");
    show_proof_of(model_called(chat?.model));
    return true;
  } catch (error) {
    if (!status) show_failure(error);
    return false;
  }
}

function show_failure(error) {
  element("welcome").hidden = false;
  element("greeting").textContent = error instanceof NoKey ? "This server needs a key." : "The server does not answer.";
  element("device").textContent = error.message;
  toast(error.message, {name: "Try again", run: start});
}

function wire() {
  ask_for_keys_with(ask_for_key);
  sidebar.wire_sidebar();
  wire_pictures();
  wire_settings(settings => {
    chat.settings = settings;
    chats.remember("settings", settings);
    chats.save(chat);
  }, remove_all_chats);
  element("new-chat").addEventListener("click", () => { begin_chat(); sidebar.shut_if_narrow(); composer.text.focus(); });
  element("show-settings").addEventListener("click", () => open_settings(chat, model_called(chat.model)));
  element("proof").addEventListener("click", async () => { if (await load_status()) show_proofs(status, chat.model); });
  element("model").addEventListener("change", event => {
    chat.model = event.target.value;
    chats.remember("model", chat.model);
    stop();
    if (chat.messages.length) keep();
    show_all();
    composer.text.focus();
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]") || sidebar.shut_if_narrow()) return;
    if (writing) stop();
    else leave_editing();
  });
  addEventListener("storage", () => sidebar.show_chats(chat?.id, hidden_tools)); // another tab has changed something
  addEventListener("pagehide", () => { if (writing) chats.save(chat); });
}

async function start() {
  if (!await load_status()) return;
  show_models();
  tidy();
  const before = chats.chat_called(chats.remembered("current", ""));
  if (before) change_to(before);
  else begin_chat(chats.remembered("model", ""));
  composer.text.focus();
  // "#text=..." writes a text into the field, so that an example can be a link. Sending it is for who opens the link.
  const text = new URLSearchParams(location.hash.slice(1)).get("text");
  if (text) composer.set(text);
}

chat = chats.new_chat("", {});
wire();
void start();
