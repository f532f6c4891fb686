// The dashboard: the queue by server-sent events, the ledger's figures now and then, orders with a confirmation.
import { element, known, plain, post, say, started } from "./common.js";
import { uPlot } from "./vendor/vendor.js";

const $ = (id) => document.getElementById(id);
const number = (value) => (value ?? 0).toLocaleString("en");
const time = (seconds) => new Date(1000 * seconds).toLocaleTimeString("en", { hour12: false });
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const CLASSES = { "2xx": "--yes", 304: "--link", "3xx": "--soft", "4xx": "--warn", "5xx": "--no", none: "--text" };
const kept = { time: [], rate: [] };
let seen = null, asked = 0, after = null, last = null, rate = null, answers = null;

function size(box) { return { width: Math.max(240, box.clientWidth), height: 180 }; }

function axes() {
  const shared = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
  return [{ ...shared }, { ...shared, size: 56 }];
}

function plot(box, series, data) {
  box.replaceChildren();
  return new uPlot({ ...size(box), legend: { show: false }, cursor: { y: false }, axes: axes(), series: [{}, ...series.map((each) => ({ points: { show: false }, ...each }))] }, data, box);
}

function queue(found) {
  $("error").textContent = found.error ?? "";
  if (found.error) { $("state").textContent = "cannot be read"; $("state").className = "tag no"; $("end").hidden = true; return; }
  const { counts } = found;
  $("state").textContent = `${found.running ? "running" : "not running"}, seen at ${time(found.at)}`;
  $("state").className = `tag ${found.running ? "yes" : "info"}`;
  $("end").hidden = !found.running;
  const settled = (counts.done ?? 0) + (counts.refused ?? 0) + (counts.failed ?? 0);
  if (found.running && last && found.at > last.at) {
    $("rate-box").hidden = false;
    kept.time.push(found.at);
    kept.rate.push(Math.max(0, settled - last.settled) / (found.at - last.at));
    if (kept.time.length > 600) { kept.time.shift(); kept.rate.shift(); }
    const data = [kept.time, kept.rate];
    if (rate) rate.setData(data); else if (kept.time.length > 1) rate = plot($("rate"), [{ stroke: css("--link"), fill: `${css("--link")}22`, width: 2 }], data);
  }
  $("rate-box").hidden = !rate;
  last = { at: found.at, settled, running: found.running };
  const tile = (value, words) => element("div", { class: "tile" }, element("b", {}, value), element("span", {}, words));
  $("tiles").replaceChildren(...Object.entries({ queued: "waiting", done: "done", refused: "refused", failed: "failed", unasked: "no robots.txt yet" })
    .map(([name, words]) => tile(number(counts[name]), words)), ...(found.memory ? [tile(`${number(Math.round(found.memory / 2 ** 20))} MB`, "memory")] : []));
  const deepest = found.depths.length - 1;
  shares("depths", "Depth", found.depths.map((count, depth) => [depth < deepest ? `${depth}` : `${depth} and deeper`, count]));
  shares("types", "Content type", Object.entries(found.types));
  table("hosts", ["Host", "Waiting", "Done", "Refused", "Failed", "Why it waits", "Orders"], found.hosts.map((host) => [
    host.host, number(host.waiting), number(host.done), number(host.refused), number(host.failed), host.why,
    element("span", { class: "orders" }, ...["slow", "stop", "go"].map((kind) => order(host.host, kind))),
  ]));
  $("shards-box").hidden = !found.shards.length;
  if (found.shards.length) table("shards", Object.keys(found.shards[0]), found.shards.map((shard) => Object.values(shard).map((value) => String(value ?? ""))));
}

function order(host, kind) {
  const button = element("button", { type: "button", "aria-label": `${kind} ${host}` }, kind);
  button.addEventListener("click", () => confirm(host, kind));
  return button;
}

function confirm(host, kind) {
  $("confirm-title").textContent = { slow: `Slow ${host} down?`, stop: `Send no more requests to ${host}?`, go: `Lift the orders for ${host}?`, end: "End the whole crawl?" }[kind];
  $("confirm-seconds").hidden = kind !== "slow";
  $("confirm-end").hidden = kind !== "end";
  $("confirm").returnValue = "no";
  $("confirm").onclose = async () => {
    if ($("confirm").returnValue !== "yes") return;
    const given = await post("crawl/order", { host, kind, seconds: $("seconds").value });
    say(given.error ?? (kind === "end" ? "The crawl ends once the requests in progress are finished" : `${given.host}: ${kind}, ${given.met ? (given.confirmed ? "effective now" : given.running ? "once the crawl reads it, which it has not confirmed" : "from the next run on") : "once the crawl meets this host, which it has not yet"}`));
  };
  $("confirm").showModal();
}

/** Counts with a bar each, as long as its share of the largest. */
function shares(id, name, counts) {
  const shown = counts.filter(([, count]) => count), most = Math.max(...shown.map(([, count]) => count));
  table(id, [name, "Pages", "Against the most"], shown.map(([words, count]) => [words, number(count), element("meter", { max: most, value: count, "aria-label": `${words}: ${count} of ${most}` })]));
}

/** The first URLs that match, or those after the ones that are shown. */
async function urls(further = false) {
  const mine = ++asked;
  $("looked").textContent = "looking ...";
  const found = await post("crawl/urls", { search: $("search").value.trim(), state: $("which").value, ...(further ? { after } : {}) });
  if (mine !== asked) return;
  const body = $("urls").tBodies[0];
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
    element("td", {}, element("span", { class: `tag s${row.state}` }, row.fate === "kept" ? "fetched" : row.fate)), element("td", {}, plain(row.why)), element("td", {}, plain(row.found_on ?? "")));
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
    element("p", { class: "verdict" }, found.fate), element("p", {}, plain(found.why)),
    ...(found.found_on ? [element("p", { class: "soft" }, `found on ${plain(found.found_on)}`)] : []), ...(found.next_try ? [element("p", { class: "soft" }, `next try ${found.next_try}`)] : []),
  ]));
}

async function linked(url, told) {
  const found = await post("crawl/linking", { url });
  if (found.error) { told.append(element("p", { class: "soft" }, found.error)); return; }
  told.append(element("p", {}, found.pages.length ? `Pages that link to it${found.all ? "" : ", of those looked at"}:` : found.all ? "No page that was kept links to it" : "None of the pages looked at links to it"),
    element("ul", {}, ...found.pages.map((page) => element("li", {}, plain(page)))));
}

function table(id, head, rows) {
  const focused = document.activeElement?.closest?.(`#${id}`) && document.activeElement.getAttribute("aria-label");
  const body = rows.length ? rows : [["none yet"]];
  $(id).replaceChildren(element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...body.map((row) => element("tr", {}, ...row.map((value, place) => element(place ? "td" : "th", place ? {} : { scope: "row" }, value))))));
  if (focused) $(id).querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

async function figures() {
  const found = await post("crawl/figures", {});
  if (found.error) { $("as-of").textContent = found.error; return; }
  const { start, width, bins } = found.timeline;
  const names = Object.keys(CLASSES).filter((name) => bins[name].some(Boolean));
  let length = 0;
  for (const name of names) bins[name].forEach((count, place) => { if (count) length = Math.max(length, place + 1); });
  $("answers").hidden = start === null || length < 2; // one point is no line, and has no width in time
  if (!$("answers").hidden) {
    const times = Array.from({ length }, (_, place) => start + place * width);
    answers = plot($("answers"), names.map((name) => ({ stroke: css(CLASSES[name]), width: 2 })), [times, ...names.map((name) => bins[name].slice(0, length))]);
    $("legend").replaceChildren(...names.map((name) => element("span", { class: `key k${name}` }, name === "none" ? "no answer" : name)));
  }
  const { bounds, counts } = found.ratios;
  table("ratios", ["Interval / required", "Requests"], counts.map((count, place) => [place ? (place < bounds.length ? `${bounds[place - 1]} to ${bounds[place]}` : `over ${bounds[place - 1]}`) : "under 1: too early", number(count)]).filter((row) => row[1] !== "0"));
  table("rules", ["Host", "Line", "Rule", "Refusals"], found.rules.map(([host, line, rule, count]) => [host, line, rule, number(count)]));
  table("refusals", ["URL", "Why", "When"], found.refusals.map(({ at, url, line, rule }) => [url, line ? `line ${line}: ${rule}` : rule, time(at)]));
  table("reasons", ["Reason", "URLs"], Object.entries(found.reasons).map(([why, count]) => [reason(why), number(count)]));
  const answered = Object.entries(found.statuses).map(([status, count]) => `${number(count)} × ${status === "none" ? "no answer" : status}`);
  $("as-of").textContent = `${answered.length ? `${answered.join(", ")}. ` : ""}This, and intervals, rules and reasons below, as of ${time(found.at)}${found.again > 15 ? `, next at ${time(Date.now() / 1000 + found.again)}` : ""}`;
  // what is being read is not replaced, nor what was asked for further
  if (last?.running && !$("urls").querySelector("[aria-expanded=true]") && !$("urls").contains(document.activeElement) && $("urls").rows.length <= 51) urls();
}

function reason(why) {
  const button = element("button", { type: "button", class: "line", "aria-label": `URLs that failed: ${why}` }, plain(why));
  button.addEventListener("click", () => { $("search").value = why; $("which").value = "failed"; urls(); $("urls-title").scrollIntoView(); });
  return button;
}

async function begin() {
  const { crawl } = await known();
  if (!crawl) { $("state").textContent = "no crawl"; $("error").textContent = "No crawl is shown: start comity serve DIR"; return; }
  $("place").textContent = crawl;
  let events = null; // a page that nobody sees is told nothing: browsers open few connections to one server
  const watch = () => {
    events?.close();
    if (document.hidden) return;
    events = new EventSource("/api/crawl/events");
    events.onmessage = (message) => { queue(JSON.parse(message.data)); document.documentElement.dataset.ready = "yes"; };
    events.onerror = () => { $("state").textContent = "connection lost"; $("state").className = "tag no"; };
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
  $("prove").addEventListener("click", async () => {
    $("proof").textContent = "reading the ledger ...";
    const found = await post("crawl/proof", {});
    $("proof").textContent = found.error ?? (found.holds ? `proved: ${number(found.requests)} requests kept to the rules` : `not proved: ${found.findings?.[0] ?? ""}`);
    $("proof").className = found.error || !found.holds ? "no" : "yes";
  });
  const fitting = new ResizeObserver(() => { rate?.setSize(size($("rate"))); answers?.setSize(size($("answers"))); });
  for (const box of ["rate", "answers"]) fitting.observe($(box));
  urls();
  await figures();
  setInterval(() => { if (!document.hidden) figures(); }, 15000);
}
started(begin);
