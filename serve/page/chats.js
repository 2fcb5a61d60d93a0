// The chats of this browser, in its local storage: an entry for each, so that a long one does not slow down others.
//
//     {id, title, changed, model, settings: {system, temperature, ...}, messages: [{role, text, images, thought, ...}]}

const prefix = "lamina.chat.";
const longest_title = 60;

// What is used where a page may not store anything: it lasts as long as the page.
function storage() {
  try {
    localStorage.setItem("lamina.try", "1");
    localStorage.removeItem("lamina.try");
    return localStorage;
  } catch {
    const kept = new Map();
    return {get length() { return kept.size; }, key: i => [...kept.keys()][i], getItem: name => kept.get(name) ?? null,
            setItem: (name, value) => kept.set(name, value), removeItem: name => kept.delete(name)};
  }
}

const kept = storage();

function read(name) {
  try {
    const chat = JSON.parse(kept.getItem(name));
    if (!Array.isArray(chat?.messages) || typeof chat.id !== "string") return null;
    for (const message of chat.messages) // the page was closed in the midst of an answer
      if (message.writing) Object.assign(message, {writing: undefined, stopped: true});
    return {...chat, settings: chat.settings ?? {}};
  } catch {
    return null;
  }
}

function names() {
  return Array.from({length: kept.length}, (_, i) => kept.key(i)).filter(name => name?.startsWith(prefix));
}

export function new_id() {
  return Array.from(crypto.getRandomValues(new Uint32Array(3)), each => each.toString(36)).join("");
}

export function new_chat(model, settings) {
  return {id: new_id(), title: "", changed: Date.now(), model,
          settings: {...settings}, messages: []};
}

// The newest first.
export function all_chats() {
  return names().map(read).filter(Boolean).sort((a, b) => b.changed - a.changed);
}

export function chat_called(id) { return read(prefix + id); }

function title_of(chat) {
  const first = chat.messages.find(each => each.role === "user");
  const text = (first?.text || first?.file || first?.images?.[0].name || "").replace(/\s+/g, " ").trim();
  return text.length > longest_title ? text.slice(0, longest_title).trimEnd() + "…" : text;
}

// Where there is no room, the oldest chats make some. Returns how many had to go, or -1 if even that was not enough.
export function save(chat) {
  if (chat.messages.length === 0) return 0;
  chat.title = title_of(chat);
  chat.changed = Date.now();
  const text = JSON.stringify(chat);
  for (let gone = 0;; ++gone) {
    try {
      kept.setItem(prefix + chat.id, text);
      return gone;
    } catch {
      const oldest = all_chats().filter(each => each.id !== chat.id).at(-1);
      if (!oldest) return -1;
      remove(oldest.id);
    }
  }
}

export function remove(id) { kept.removeItem(prefix + id); }
export function put_back(chat) { kept.setItem(prefix + chat.id, JSON.stringify(chat)); }
export function remove_all() { names().forEach(name => kept.removeItem(name)); }

// What a new chat begins with.
export function remembered(name, otherwise) {
  try {
    return JSON.parse(kept.getItem("lamina." + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}
export function remember(name, value) {
  try { kept.setItem("lamina." + name, JSON.stringify(value)); } catch { /* then it is not remembered */ }
}
