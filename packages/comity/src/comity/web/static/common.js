// What the pages share: elements made from text, questions to the API, a word to the user.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A text of others with the characters that turn the direction of writing shown as what they are. */
export const plain = (text) => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);

// What answers in a worker: our server, or, where the page was put on a site as files, comity in the browser.
const alone = "alone" in document.documentElement.dataset;
const engine = new Worker(alone ? "engine.js" : "asking.js", { type: "module" });
const waiting = new Map();
let questions = 0;
const answered = (id, answer) => { waiting.get(id)?.(answer); waiting.delete(id); };
engine.onmessage = ({ data }) => answered(data.id, data.answer);
engine.onerror = ({ message }) => { for (const id of [...waiting.keys()]) answered(id, { error: `The workbench could not be started here: ${message ?? "a file is missing"}` }); };

export const post = (name, question) => new Promise((resolve) => { waiting.set(++questions, resolve); engine.postMessage({ id: questions, name, question }); });

/** The well-known agents, the dialects, and the crawl that is shown, if there is one. */
export async function known() {
  const found = alone ? await post("agents", {}) : await (await fetch("/api/agents")).json();
  if (found.error) throw new Error(found.error);
  return found;
}

/** Begins a page; what keeps it from beginning is shown. */
export async function started(begin) {
  try { await begin(); } catch (error) {
    document.getElementById("error").textContent = error.message;
    document.documentElement.dataset.ready = "no";
    throw error;
  }
}

let timer;
export function say(words) {
  const place = document.getElementById("said");
  place.textContent = words;
  place.classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("on"), 2500);
}
