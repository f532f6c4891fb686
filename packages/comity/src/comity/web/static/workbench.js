// The workbench: asks the API as one types, and writes answers as text, never as markup.
import "./editor.js";
import { element, known, plain, post, say, started } from "./common.js";

const START = {
  text: "User-agent: *\nDisallow: /search\nAllow: /search/about\nDisallow: /*.pdf$\nCrawl-delay: 2\n\nUser-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /blog/\nContent-Signal: search=yes, ai-train=no\n\nSitemap: https://example.com/sitemap.xml\n",
  agents: "Googlebot\nGPTBot\nMyBot", urls: "/\n/blog/lamps\n/search/about\n/manual.pdf", dialect: "rfc9309", tests: "GPTBot not /blog/\nGooglebot yes /search/about",
};
const $ = (id) => document.getElementById(id);
const lines = (id) => $(id).value.split("\n").map((line) => line.trim()).filter(Boolean);
const editor = $("editor");
let chosen = { agent: 0, url: 0 };
let before = null, shown = null;
let asked = 0;

function state() {
  const old = before === null || before === editor.value ? {} : { old: before };
  return { text: editor.value, agents: $("agents").value, urls: $("urls").value, dialect: $("dialect").value, tests: $("tests").value, ...old };
}

function restore(saved) {
  for (const name of ["agents", "urls", "tests"]) if (typeof saved[name] === "string") $(name).value = saved[name];
  if ([...$("dialect").options].some(({ value }) => value === saved.dialect)) $("dialect").value = saved.dialect;
  if (typeof saved.text === "string") editor.value = saved.text;
  before = typeof saved.old === "string" ? saved.old : editor.value;
}

async function judge() {
  const mine = ++asked;
  const question = { text: editor.value, agents: lines("agents"), urls: lines("urls"), dialect: $("dialect").value, tests: $("tests").value };
  chosen = { agent: Math.min(chosen.agent, Math.max(0, question.agents.length - 1)), url: Math.min(chosen.url, Math.max(0, question.urls.length - 1)) };
  const why = [question.agents[chosen.agent], question.urls[chosen.url]];
  const answer = await post("check", why.includes(undefined) ? question : { ...question, why });
  if (mine !== asked) return;
  $("error").textContent = answer.error ?? answer.tests_error ?? "";
  for (const id of ["matrix", "results", "why"]) $(id).classList.toggle("stale", Boolean(answer.error));
  if (answer.error) return;
  shown = { question, answer };
  draw();
  results(answer.tests);
  if (why.join() !== inCell().join()) explain();  // another cell was chosen meanwhile
  else if (answer.why) reason(...why, answer.why);
  else { $("why").replaceChildren(); editor.mark(null); }
}

// Rows that say what they said before are left as they are.
function draw() {
  const { question: { agents, urls }, answer } = shown;
  const said = [...$("matrix").tBodies].flatMap((body) => [...body.rows]);
  const rows = agents.map((agent, row) => {
    const key = JSON.stringify([agent, urls, answer.delays[row], answer.verdicts[row], answer.dialects[row], chosen.agent === row && chosen.url]);
    return said[row]?.key === key ? said[row] : Object.assign(line(agent, row), { key });
  });
  if (rows.length === said.length && rows.every((row, place) => row === said[place])) return;
  const focused = document.activeElement?.closest?.("#matrix") && document.activeElement.getAttribute("aria-label").replace(/\w+$/, "");  // whatever the verdict is
  const head = element("tr", {}, element("th", { scope: "col" }, "Agent"), ...urls.map((url) => element("th", { scope: "col" }, plain(url))));
  $("matrix").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  if (focused) $("matrix").querySelector(`[aria-label^="${CSS.escape(focused)}"]`)?.focus();
}

function line(agent, row) {
  const { question: { urls }, answer } = shown;
  return element("tr", {},
    element("th", { scope: "row" }, plain(agent), answer.delays[row] === null ? "" : element("span", { class: "soft" }, ` ${answer.delays[row]} s`)),
    ...urls.map((url, column) => {
      const verdict = answer.verdicts[row][column];
      const others = answer.dialects[row][column].map((each) => each.dialect);
      if (verdict.allowed === null) return element("td", { class: "soft", title: verdict.why }, "not a URL");
      const word = verdict.allowed ? "allowed" : "disallowed";
      const button = element("button", {
        type: "button", class: verdict.allowed ? "yes" : "no", title: verdict.why,
        "aria-label": `${agent}, ${url}: ${word}`, "aria-pressed": String(chosen.agent === row && chosen.url === column),
      }, verdict.allowed ? "✓ " : "✗ ", word, verdict.line ? element("span", { class: "soft" }, ` ${verdict.line}`) : "",
      others.length ? element("span", { class: "otherwise" }, `${others.join(", ")}: other`) : "");
      const choose = () => { chosen = { agent: row, url: column }; draw(); explain(); };
      button.addEventListener("click", choose);  // by keys
      button.addEventListener("mousedown", (event) => {  // a cell that is drawn anew before the release gets no click
        if (event.button) return;
        event.preventDefault();
        choose();
        $("matrix").querySelector("[aria-pressed=true]")?.focus();
      });
      return element("td", {}, button);
    }));
}

const inCell = () => [shown.question.agents[chosen.agent], shown.question.urls[chosen.url]];

async function explain() {
  const explained = shown, { text, dialect } = shown.question, [agent, url] = inCell();
  const found = await post("explain", { text, agent, url, dialect });
  if (explained === shown && [agent, url].join() === inCell().join() && !found.error) reason(agent, url, found);
}

function reason(agent, url, found) {
  const lost = found.overridden.map((rule) => element("li", {}, jump(rule.line), " ", element("code", {}, rule.text), ` lost: ${rule.why}`));
  const others = found.dialects.map((each) => element("li", {}, `${each.dialect} reads it otherwise: ${each.allowed ? "allowed" : "disallowed"}`, each.line ? " by " : "", each.line ? jump(each.line) : ""));
  const uses = found.usage.map((each) => element("li", {}, each.why));
  const delay = shown.answer.delays[chosen.agent];
  $("why").replaceChildren(
    element("p", { class: `verdict ${found.allowed ? "yes" : "no"}` }, `${agent} ${found.allowed ? "may" : "may not"} fetch ${plain(url)}`),
    element("p", {}, found.why, " ", found.rule ? jump(found.rule.line, "show") : ""),
    element("p", { class: "soft" }, found.group ? `Group of ${found.group.agents.join(", ")} (line ${found.group.line})` : "No group applies", delay === null ? "" : `; Crawl-delay ${delay} s`),
    ...[lost, others, uses].filter((each) => each.length).map((each) => element("ul", {}, ...each)),
  );
  editor.mark(found.rule?.line, found.overridden.map((rule) => rule.line));
}

function jump(line, words = `line ${line}`) {
  const button = element("button", { type: "button", class: "line" }, words);
  button.addEventListener("click", () => editor.show(line));
  return button;
}

function results(tests) {
  const failed = tests.filter((test) => !test.holds).length;
  $("test-count").textContent = tests.length ? (failed ? `${failed} of ${tests.length} fail` : `${tests.length} hold`) : "";
  $("results").replaceChildren(...tests.map((test) => element("li", {},
    element("span", { class: `tag ${test.holds ? "yes" : "no"}` }, test.holds ? "holds" : "fails"),
    element("span", {}, test.text, test.holds ? "" : element("span", { class: "soft" }, ` ${test.why}`)))));
}

async function lint() {
  const text = editor.value;
  const found = await post("lint", { text, dialect: $("dialect").value });
  if (found.error || text !== editor.value) return;
  const count = (severity, word) => { const n = found.filter((each) => each.severity === severity).length; return n ? `${n} ${word}${n > 1 && word !== "info" ? "s" : ""}` : ""; };
  $("counts").textContent = [count("error", "error"), count("warning", "warning"), count("info", "info")].filter(Boolean).join(", ") || "none";
  const said = text.split("\n");
  for (const each of found) each.was = said[each.line - 1];
  $("findings").replaceChildren(...found.slice(0, 300).map((each) => {
    const mend = element("button", { type: "button", "aria-label": `Fix line ${each.line}: ${each.message}` }, "Fix");
    mend.addEventListener("click", () => fix(each));
    return element("li", {}, element("span", { class: `tag ${each.severity}` }, each.severity),
      element("div", {}, jump(each.line), " ", each.message, element("div", { class: "soft" }, each.suggestion, each.changes ? " (changes what is read)" : "")),
      each.replacement === null ? "" : mend);
  }));
  editor.annotate(found, fix);
}

function fix(finding) {
  if (editor.value.split("\n")[finding.line - 1] !== finding.was) { say("The file has changed: its findings come anew"); slower(); return; }
  editor.replace(finding.line, finding.replacement);
  say(`Line ${finding.line} changed`);
}

const stated = (value) => value === "unknown" ? "not stated" : value;

async function compare() {
  if (before === null || !$("changes-box").open) return;
  const question = { old: before, new: editor.value, dialect: $("dialect").value };
  const found = await post("diff", question);
  if (question.old !== before || question.new !== editor.value || question.dialect !== $("dialect").value) return;  // asked anew
  if (found.error) { $("changes").replaceChildren(element("li", {}, found.error)); return; }
  const rows = found.changes.map((each) => element("li", {},
    element("span", { class: `tag ${each.allowed ? "yes" : "no"}` }, each.allowed ? "gains" : "loses"),
    element("span", {}, `${each.agent === "*" ? "everybody else" : plain(each.agent)} ${each.allowed ? "gains" : "loses"} `, element("code", {}, plain(each.pattern)), each.partly ? ` (some paths, such as ${plain(each.path)})` : "")));
  const row = (kind, word, words) => rows.push(element("li", {}, element("span", { class: `tag ${kind}` }, word), element("span", {}, plain(words))));
  for (const pattern of found.undecided) row("info", "unknown", `whether paths of ${pattern} changed: it meets too many other patterns`);
  const name = (agent) => agent === "*" ? "everybody else" : agent;
  for (const [agent, { before: was, after: now, changes }] of Object.entries(found.usage)) {
    for (const each of changes) row({ allowed: "yes", disallowed: "no" }[each.after] ?? "info", "use", `${name(agent)}: ${each.purpose}${each.path === null ? "" : ` on ${each.path}`}: ${stated(each.before)} → ${stated(each.after)} (${each.by})`);
    if (!changes.length) row("info", "use", `${name(agent)}: ${was.join("; ") || "nothing stated"} → ${now.join("; ") || "nothing stated"}`);
  }
  for (const [kind, agents] of Object.entries(found.paces)) for (const [agent, [was, now]] of Object.entries(agents)) row("info", "pace", `${name(agent)}: ${kind} ${was ?? "none"} → ${now ?? "none"}`);
  for (const [kind, values] of Object.entries(found.added)) for (const value of values) row("yes", kind, `+ ${value}`);
  for (const [kind, values] of Object.entries(found.removed)) for (const value of values) row("no", kind, `− ${value}`);
  if (found.left_out) row("info", "more", `${found.left_out} more paths`);
  $("change-count").textContent = rows.length ? `${rows.length}` : "none by meaning";
  $("changes").replaceChildren(...rows);
}

// At once, and once more where something changed meanwhile.
function latest(work) {
  let busy = false, again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    try { while (again) { again = false; await work(); } } finally { busy = false; }
  };
}
// In a pause that is longer than the work took last: what reads the whole file must not hold up verdicts.
function inPauses(work) {
  let timer, pause = 250;
  const run = latest(async () => {
    const began = performance.now();
    await work();
    pause = Math.min(2000, Math.max(250, 2 * (performance.now() - began)));
  });
  return () => { clearTimeout(timer); timer = setTimeout(run, pause); };
}
const soon = latest(judge), slower = inPauses(async () => { await lint(); await compare(); });

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

async function opened(file) {
  const text = await file.text();
  try {
    if (!file.name.endsWith(".json")) throw new Error("a robots.txt");
    restore(JSON.parse(text));
    soon(); slower();
  } catch { editor.value = text; }
  say(`${file.name} opened`);
}

async function begin() {
  let saved = START;
  try { if (location.hash.length > 1) saved = JSON.parse(await unpacked(location.hash.slice(1))); } catch { say("The link cannot be read"); }
  saved = { ...START, ...saved };
  restore(saved);
  $("why").textContent = "Loading ...";
  const { agents, dialects, crawl } = await known();
  if (crawl) $("to-dashboard").hidden = false;
  $("dialect").append(...dialects.map((name) => element("option", { value: name }, name)));
  restore({ dialect: saved.dialect, old: saved.old });
  const kinds = new Map();
  for (const each of agents) {
    if (!kinds.has(each.purpose)) { kinds.set(each.purpose, element("optgroup", { label: each.purpose })); $("known").append(kinds.get(each.purpose)); }
    kinds.get(each.purpose).append(element("option", { value: each.name, title: `${each.source}, ${each.read}` }, `${each.name} (${each.operator}${each.about && ": "}${each.about})`));
  }
  for (const id of ["agents", "urls", "tests", "dialect"]) $(id).addEventListener("input", () => { soon(); if (id === "dialect") slower(); });
  editor.addEventListener("change", () => { soon(); slower(); });
  $("known").addEventListener("change", () => {
    if ($("known").value && !lines("agents").includes($("known").value)) $("agents").value = [...lines("agents"), $("known").value].join("\n");
    $("known").value = "";
    soon();
  });
  $("changes-box").addEventListener("toggle", compare);
  $("keep").addEventListener("click", () => { before = editor.value; compare(); say("Changes count from here"); });
  let shared = "";
  addEventListener("hashchange", async () => {
    const own = location.hash === shared;
    shared = "";
    if (own || location.hash.length < 2) return;
    try { restore(JSON.parse(await unpacked(location.hash.slice(1)))); } catch { say("The link cannot be read"); }
    soon(); slower();
  });
  $("share").addEventListener("click", async () => {
    shared = `#${await packed(JSON.stringify(state()))}`;
    location.hash = shared;
    try { await navigator.clipboard.writeText(location.href); say("Link copied"); } catch { say("The link is in the address bar"); }
  });
  $("save").addEventListener("click", () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([JSON.stringify(state(), null, 1)], { type: "application/json" })), download: "robots-workbench.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  $("open").addEventListener("change", () => { if ($("open").files[0]) opened($("open").files[0]); $("open").value = ""; });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) opened(event.dataTransfer.files[0]); });
  $("fetch").addEventListener("submit", async (event) => {
    event.preventDefault();
    $("fetched").textContent = "Fetching ...";
    const found = await post("fetch", { url: $("site").value.trim() });
    $("fetched").textContent = found.error ?? `${found.url} answered ${found.status}`;
    if (!found.error) { editor.value = found.text; before = found.text; }
  });
  await judge();
  await lint();
  document.documentElement.dataset.ready = "yes";
}
started(begin);
