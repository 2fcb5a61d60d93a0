// Asks the server. What goes wrong is an Error whose message can be shown.

const storage_name = "lamina.key";
let ask_for_key = async () => null; // (why) -> a key, or null
let asking = null;

export const key = {
  get: () => sessionStorage.getItem(storage_name) ?? "",
  set: value => sessionStorage.setItem(storage_name, value),
  forget: () => sessionStorage.removeItem(storage_name),
};

export function ask_for_keys_with(asker) { ask_for_key = asker; }

export class NoKey extends Error {}

// Several requests that are refused at once ask for one key.
async function new_key(why, refused) {
  if (key.get() !== refused) return; // another request has got one meanwhile
  asking ??= ask_for_key(why).finally(() => { asking = null; });
  const given = await asking;
  if (!given) throw new NoKey(why);
  key.set(given);
}

const words = {
  413: "This is too large for the server.",
  429: "The server has too many requests. Try again in a moment.",
  503: "The server is busy or about to end. Try again in a moment.",
  504: "The server took too long for this.",
};

async function message_of(response) {
  let said = "";
  try {
    const {error} = await response.json();
    said = error?.message ?? error ?? "";
  } catch { /* not JSON: something in front of the server */ }
  if (words[response.status]) return words[response.status] + (said ? ` (${said})` : "");
  return said || `The server answered with status ${response.status}.`;
}

// A response with status 200. `body`: an object, or a form.
export async function ask(path, body, signal) {
  for (;;) {
    const headers = {}, used = key.get();
    if (used) headers.Authorization = "Bearer " + used;
    const form = body instanceof FormData;
    if (body && !form) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, {method: body ? "POST" : "GET", headers, body: body && !form ? JSON.stringify(body) : body, signal,
                                    credentials: "omit", cache: "no-store"});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server cannot be reached. Is lamina serve still running?");
    }
    if (response.ok) return response;
    const why = await message_of(response);
    if (response.status !== 401) throw new Error(why);
    await new_key(used ? "This key is not one of the server’s." : "This server answers only those who have a key.", used);
  }
}

export async function ask_json(path, body, signal) { return (await ask(path, body, signal)).json(); }

// The JSON of each server-sent event.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = "";;) {
      const {value, done} = await reader.read();
      if (done) throw new Error("The connection broke off before the answer was complete.");
      const parts = (rest + value).split(/\r?\n\r?\n/);
      rest = parts.pop();
      for (const part of parts) {
        const data = part.split(/\r?\n/).filter(line => line.startsWith("data:")).map(line => line.slice(5).trimStart()).join("\n");
        if (data === "[DONE]") return;
        if (!data) continue;
        const event = JSON.parse(data);
        if (event.error) throw new Error(event.error.message ?? event.error);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
