// The dashboard: the server renders the page, and by server-sent events what changes of it; this puts it in its place,
// asks about URLs, and gives orders with a confirmation.
import { element, plain, post, say, started } from "./common.js";

const $ = (id) => document.getElementById(id);
const number = (value) => value.toLocaleString("en");
let seen = 0, asked = 0, after = null, state = {};

/** Makes a part of the page like a new one and keeps what is alike: focus, and what was opened, stay. */
function morph(old, made) {
  if (old.nodeName !== made.nodeName || old.id !== made.id) { old.replaceWith(made); return; }
  if (old.nodeType !== 1) { if (old.data !== made.data) old.data = made.data; return; }
  if (old.isEqualNode(made) || (old.nodeName === "SELECT" && old === document.activeElement)) return;
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const key = (node) => node?.dataset?.key, children = [...made.childNodes], keys = new Set(children.map(key));
  for (const child of [...old.childNodes]) if (key(child) !== undefined && !keys.has(key(child))) child.remove();
  children.forEach((child, place) => {
    const there = old.childNodes[place];
    if (!there) old.append(child);
    else if (key(there) !== key(child)) old.insertBefore(child, there); // a host comes in between; the others keep their order
    else morph(there, child);
  });
  while (old.childNodes.length > children.length) old.lastChild.remove();
}

/** What the server says of the crawl now. */
function show(found) {
  $("error").textContent = found.error ?? "";
  document.documentElement.classList.toggle("lost", Boolean(found.error));
  if (found.error) { tell("cannot be read", "no"); return; }
  const made = new DOMParser().parseFromString(found.html, "text/html"); // nothing of it runs; texts are escaped
  const sections = [...made.body.children];
  for (const section of sections) {
    const there = $(section.id);
    if (there) morph(there, section); else $("hosts").before(section); // the charts, once there is something to draw
  }
  document.title = found.title;
  tell(found.state, found.look);
  $("end").hidden = !found.running || found.leaving;
  document.documentElement.classList.toggle("lost", found.leaving);
  // what is being read is not replaced, nor what was asked for further
  const over = state.running && !found.running, read = $("listed").querySelector("[aria-expanded=true]") || $("listed").contains(document.activeElement);
  state = found;
  if (!found.leaving && (over || (found.running && !read && $("listed").rows.length <= 51))) urls();
}

function tell(words, look) { if ($("state").textContent !== words) $("state").textContent = words; $("state").className = `tag ${look}`; }

function confirm(host, kind) {
  const told = document.querySelector(`select[data-host="${CSS.escape(host)}"]`);
  $("confirm-title").textContent = { slow: `Slow ${host} down?`, stop: `Send no more requests to ${host}?`, go: `Lift the orders for ${host}?`, end: "End the whole crawl?" }[kind];
  $("confirm-seconds").hidden = kind !== "slow";
  $("confirm-end").hidden = kind !== "end";
  $("confirm").returnValue = "no";
  $("confirm").onclose = async () => {
    if (told) told.value = "";
    if ($("confirm").returnValue !== "yes") return;
    const given = await post("crawl/order", { host, kind, seconds: $("seconds").value });
    say(given.error ?? (kind === "end" ? "The crawl ends once the requests in progress are finished" : `${given.host}: ${kind}, ${given.met ? (given.confirmed ? "effective now" : given.running ? "once the crawl reads it, which it has not confirmed" : "from the next run on") : "once the crawl meets this host, which it has not yet"}`));
  };
  $("confirm").showModal();
}

/** The first URLs that match, or those after the ones that are shown. */
async function urls(further = false) {
  const mine = ++asked;
  $("looked").textContent = "looking ...";
  const found = await post("crawl/urls", { search: $("search").value.trim(), state: $("which").value, ...(further ? { after } : {}) });
  if (mine !== asked) return;
  const body = $("listed").tBodies[0];
  if (!further) { body.replaceChildren(); seen = 0; }
  if (found.error) { $("looked").textContent = found.error; $("more").hidden = true; return; }
  body.append(...found.urls.map(listed));
  after = found.after;
  seen += found.looked;
  $("more").hidden = after === null;
  $("more").textContent = found.urls.length ? "Show more" : "Look further";
  $("looked").textContent = [`${number(body.querySelectorAll("tr.of").length)} shown`, after === null ? "and there are no more" : `after ${number(seen)} rows looked at; there are more`, ...found.missing].join("; ");
}

function listed(row) {
  const url = element("button", { type: "button", class: "line", "aria-expanded": "false" }, plain(row.url));
  const made = element("tr", { class: "of" }, element("th", { scope: "row" }, url),
    element("td", {}, element("span", { class: `tag s${row.state}` }, row.state)), element("td", {}, plain(row.why)), element("td", row.found_on ? { "data-by": "found on" } : {}, plain(row.found_on ?? "")));
  url.addEventListener("click", async () => {
    const open = url.getAttribute("aria-expanded") === "false";
    url.setAttribute("aria-expanded", String(open));
    if (!open) { made.nextSibling.remove(); return; }
    const told = element("div", { class: "why", "aria-live": "polite" }, "reading the crawl ...");
    made.after(element("tr", {}, element("td", { colspan: 4 }, told)));
    await fate(row.url, told);
    if (row.state === "failed") await linked(row.url, told);
  });
  return made;
}

async function fate(url, told) {
  told.dataset.url = url;
  const found = await post("crawl/fate", { url });
  if (told.dataset.url !== url) return; // asked for another one
  told.replaceChildren(...(found.error ? [element("p", {}, found.error)] : [
    element("p", { class: "verdict-of" }, found.fate), element("p", {}, plain(found.why)),
    ...(found.found_on ? [element("p", { class: "soft" }, `found on ${plain(found.found_on)}`)] : []), ...(found.next_try ? [element("p", { class: "soft" }, `next try ${found.next_try}`)] : []),
  ]));
}

async function linked(url, told) {
  const found = await post("crawl/linking", { url });
  if (found.error) { told.append(element("p", { class: "soft" }, found.error)); return; }
  told.append(element("p", {}, found.pages.length ? `Pages that link to it${found.all ? "" : ", of those looked at"}:` : found.all ? "No page that was kept links to it" : "None of the pages looked at links to it"),
    element("ul", {}, ...found.pages.map((page) => element("li", {}, plain(page)))));
}

async function begin() {
  if (!$("listed")) return; // there is no crawl, which the page says
  let events = null; // a page that nobody sees is told nothing: browsers open few connections to one server
  const watch = () => {
    events?.close();
    if (document.hidden || state.leaving) return;
    events = new EventSource("/api/crawl/events");
    events.onmessage = (message) => { show(JSON.parse(message.data)); document.documentElement.dataset.ready = "yes"; if (state.leaving) events.close(); };
    events.onerror = () => { // who served the page is gone without a word; the browser goes on asking
      document.documentElement.classList.add("lost");
      tell("not updated", "warning");
      if (state.running && !$("verdict-title").textContent.startsWith("Last seen")) $("verdict-title").textContent = `Last seen ${$("verdict-title").textContent.toLowerCase()}`;
      $("error").textContent = `This page is updated no more: the program that served it does not answer. Open it again with: ${$("place").textContent}`;
    };
  };
  document.addEventListener("visibilitychange", watch);
  watch();
  $("look").addEventListener("submit", (event) => {
    event.preventDefault();
    const url = $("search").value.trim();
    if (!url.includes("://")) { urls(); return; }
    $("told").textContent = "reading the crawl ...";
    fate(url, $("told"));
  });
  let typing;
  $("search").addEventListener("input", () => { $("told").replaceChildren(); delete $("told").dataset.url; clearTimeout(typing); typing = setTimeout(() => urls(), 250); });
  $("which").addEventListener("change", () => urls());
  $("more").addEventListener("click", () => urls(true));
  $("end").addEventListener("click", () => confirm("", "end"));
  $("hosts").addEventListener("change", ({ target }) => { if (target.value) confirm(target.dataset.host, target.value); });
  $("attention").addEventListener("click", ({ target }) => {
    if (!target.dataset.reason) return;
    $("search").value = target.dataset.reason;
    $("which").value = "failed";
    urls();
    $("urls-title").scrollIntoView();
  });
  await urls();
}
started(begin);
