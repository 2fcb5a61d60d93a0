// The images of messages: read from files, in a size that models can use, and kept in this browser's IndexedDB, because
// its local storage has room for a few of them only. Chats have their names and sizes:
//
//     {id, name, width, height}

import {new_id} from "./chats.js";

const longest_side = 1280;            // pixels: a third more than most models see of an image
const largest_as_it_is = 512 * 1024; // bytes of a file that is sent without being written anew
const of_the_server = /;base64,(iVBORw0KGgo|\/9j\/|UklGR)/; // PNG, JPEG and WebP, whatever a file is called
const quality = 0.85;

const urls = new Map(); // "data:image/jpeg;base64,..." by the ids of images, as long as the page is open

// ---- Files ----

function data_url(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

// On white, where it is transparent, as the server would have it.
function written_anew(picture, width, height) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, {width, height});
  const paper = canvas.getContext("2d", {alpha: false});
  paper.fillStyle = "white";
  paper.fillRect(0, 0, width, height);
  paper.imageSmoothingQuality = "high";
  paper.drawImage(picture, 0, 0, width, height);
  return canvas.toDataURL("image/jpeg", quality);
}

// Of any format that this browser knows.
export async function read_image(file) {
  const name = file.name || "Image", picture = new Image();
  let url;
  try {
    url = picture.src = await data_url(file);
    await picture.decode();
  } catch {
    throw new Error(`${name} is no image that this browser can read. JPEG and PNG always are.`);
  }
  const [whole_width, whole_height] = [picture.naturalWidth || longest_side, picture.naturalHeight || longest_side]; // or a drawing
  const scale = Math.min(1, longest_side / Math.max(whole_width, whole_height));
  const [width, height] = [whole_width, whole_height].map(side => Math.max(1, Math.round(side * scale)));
  const as_it_is = scale === 1 && file.size <= largest_as_it_is && of_the_server.test(url);
  const image = {id: new_id(), name, width, height};
  urls.set(image.id, as_it_is ? url : written_anew(picture, width, height));
  return image;
}

// ---- What is kept ----

let base = null;

function opened() {
  return base ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("lamina", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("images");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// Returns what the request has found that `work` makes of the store, when all is done.
async function in_store(mode, work) {
  const transaction = (await opened()).transaction("images", mode);
  const request = work(transaction.objectStore("images"));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request?.result);
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });
}

// Returns whether this browser keeps them when the page is closed.
export async function keep_images(images) {
  try {
    await in_store("readwrite", store => { for (const {id} of images) if (urls.has(id)) store.put(urls.get(id), id); });
    return true;
  } catch {
    return false;
  }
}

// Null if the image is gone.
export async function url_of({id}) {
  if (!urls.has(id)) {
    const found = await in_store("readonly", store => store.get(id)).catch(() => null);
    if (found) urls.set(id, found);
  }
  return urls.get(id) ?? null;
}

// Deletes the images that no chat has. `chats()` is called when it is known which images there are: a chat is kept
// before its images are, so none is deleted that another tab has just sent.
export async function delete_all_but_those_of(chats) {
  try {
    const ids = await in_store("readonly", store => store.getAllKeys());
    const used = new Set(chats().flatMap(chat => chat.messages).flatMap(message => message.images ?? []).map(image => image.id));
    const unused = ids.filter(id => !used.has(id));
    unused.forEach(id => urls.delete(id));
    await in_store("readwrite", store => { for (const id of unused) store.delete(id); });
  } catch { /* then there is nothing that could be deleted */ }
}
