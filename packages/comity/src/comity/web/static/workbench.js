// The workbench: asks the API as one types, and writes answers as text, never as markup.
import "./editor.js";
import { element, known, plain, post, say, started } from "./common.js";

const EXAMPLE = {
  text: "User-agent: *\nDisallow: /search\nAllow: /search/about\nDisallow: /*.pdf$\nCrawl-delay: 2\n\nUser-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /blog/\nContent-Signal: search=yes, ai-train=no\n\nSitemap: https://example.com/sitemap.xml\n",
  agents: "Googlebot\nGPTBot\nMyBot", urls: "/\n/blog/lamps\n/search/about\n/manual.pdf", tests: "GPTBot not /blog/\nGooglebot yes /search/about", source: "the example", old: null, example: true,
};
const FRESH = { agents: "Googlebot\nBingbot\nGPTBot\nClaudeBot\nMyBot", urls: "/", tests: "", example: false, chosen: null };
const DIALECTS = { rfc9309: "RFC 9309", google: "Google", bing: "Bing", yandex: "Yandex", apple: "Apple" };
const TABS = ["file", "bots", "urls", "findings", "changes", "tests"];
const KEPT = "comity workbench";
const dialectName = (name) => DIALECTS[name] ?? name;
const $ = (id) => document.getElementById(id);
const lines = (id) => $(id).value.split("\n").map((line) => line.trim()).filter(Boolean);
const editor = $("editor");
let chosen = null;
let before = "", source = "an empty file", example = false, shown = null;
let asked = 0;

function state() {
  return { text: editor.value, agents: $("agents").value, urls: $("urls").value, dialect: $("dialect").value, tests: $("tests").value, source, example, chosen, tab: document.body.dataset.tab, ...(before === editor.value ? {} : { old: before }) };
}

function restore(saved) {
  for (const name of ["agents", "urls", "tests"]) if (typeof saved[name] === "string") $(name).value = saved[name];
  if ([...$("dialect").options].some(({ value }) => value === saved.dialect)) $("dialect").value = saved.dialect;
  if (typeof saved.text === "string") editor.value = saved.text;
  if (typeof saved.source === "string") source = saved.source;
  if (typeof saved.example === "boolean") example = saved.example;
  if (saved.chosen === null || [saved.chosen?.agent, saved.chosen?.url].every((each) => typeof each === "string")) chosen = saved.chosen;
  before = typeof saved.old === "string" ? saved.old : editor.value;
  $("against").textContent = plain(source);
}

/** Puts a file in the place of the one that is open; nothing of the example stays. */
function load(text, name, urls) {
  restore({ ...(example ? FRESH : {}), text, source: name, old: text, chosen: null, ...(urls ? { urls } : {}) });
  $("fetched").textContent = plain(name);
  soon(); slower();
}

function choose(agent, url) {
  chosen = { agent, url };
  if (shown) draw();
  explain();
}

async function judge() {
  const mine = ++asked;
  const question = { text: editor.value, agents: lines("agents"), urls: lines("urls"), dialect: $("dialect").value, tests: $("tests").value };
  const why = chosen ?? { agent: question.agents[0], url: question.urls[0] };
  const explained = why.agent !== undefined && why.url !== undefined;
  const answer = await post("check", explained ? { ...question, why: [why.agent, why.url] } : question);
  if (mine !== asked) return;
  $("error").textContent = answer.error ?? answer.tests_error ?? "";
  for (const id of ["matrix", "results", "why"]) $(id).classList.toggle("stale", Boolean(answer.error));
  if (answer.error) return;
  shown = { question, answer };
  draw();
  results(answer.tests, answer.names);
  $("names").textContent = question.agents.flatMap((agent) => answer.names[agent] ?? []).map(plain).join(" ");
  $("url-count").textContent = question.urls.length || "";
  sitemaps(question, answer.sitemaps);
  const now = inQuestion();
  if (explained && (now.agent !== why.agent || now.url !== why.url)) explain();  // another one was chosen meanwhile
  else if (answer.why) reason(why, answer.why);
  else { $("why").replaceChildren(); editor.mark(null); }
}

let named = "", read = null;
/** The sitemaps that the file names; what was read of them stays while they are the same, and says of which file it is. */
function sitemaps({ text, agents, dialect }, found) {
  if (read && (read.text !== text || read.dialect !== dialect || `${read.agents}` !== `${agents}`)) { read = null; $("sitemaps-said").textContent = "as of the file, or the agents, before the change"; }
  if (named === JSON.stringify(found)) return;
  named = JSON.stringify(found);
  $("sitemaps-part").hidden = !found.length;
  $("sitemaps-said").textContent = "";
  $("read-sitemaps").textContent = "Which of their URLs may an agent not fetch?";
  $("read-sitemaps").onclick = () => readSitemaps(found, []);
  $("sitemaps").replaceChildren(...found.map((url) => element("li", {}, plain(url))));
}

async function readSitemaps(sitemaps, before) {
  const text = editor.value, agents = lines("agents"), dialect = $("dialect").value, mine = named;
  $("read-sitemaps").disabled = true;
  $("sitemaps-said").textContent = "Reading them, as slowly as the site wants ...";
  const found = await post("sitemaps", { text, agents, dialect, sitemaps, site: source.includes("://") ? source : "" });
  $("read-sitemaps").disabled = false;
  if (mine !== named) return;  // the file names others now
  $("sitemaps-said").textContent = found.error ?? (found.left.length ? `${found.left.length} are left` : "All are read");
  if (found.error) return;
  read = { text, agents, dialect };
  const rows = [...before, ...found.sitemaps.map(sitemapRow)];
  $("read-sitemaps").textContent = found.left.length ? "Read further" : "Read them again";
  $("read-sitemaps").onclick = () => found.left.length ? readSitemaps(found.left, rows) : readSitemaps(JSON.parse(named), []);
  $("sitemaps").replaceChildren(...rows, ...found.left.map((url) => element("li", {}, plain(url))));
}

function sitemapRow({ url, problem, urls, indexed, elsewhere, refused }) {
  const counted = [problem, ...Object.entries({ URLs: urls, "more sitemaps": indexed, "entries of other hosts": elsewhere }).map(([noun, count]) => count && `${count.toLocaleString("en")} ${noun}`)].filter(Boolean).join("; ");
  return element("li", {}, element("span", { class: `tag ${problem ? "no" : "yes"}` }, problem ? "problem" : "read"), element("div", {}, plain(url), element("div", { class: "soft" }, plain(counted)),
    ...refused.filter(({ count }) => count).map(({ agent, count, urls: first }) => element("details", {}, element("summary", {}, `${plain(agent)} may not fetch ${count.toLocaleString("en")} of them`),
      element("ul", {}, ...first.map((each) => element("li", {}, plain(each.url), " ", each.line ? jump(each.line) : "")), ...(count > first.length ? [element("li", { class: "soft" }, `and ${(count - first.length).toLocaleString("en")} more`)] : []))))));
}

/** Whom and what the explanation is about: what was clicked, else the first of both. */
const inQuestion = () => chosen ?? { agent: shown.question.agents[0], url: shown.question.urls[0] };

// Rows that say what they said before are left as they are.
function draw() {
  const { question: { agents, urls }, answer } = shown, about = inQuestion();
  const said = [...$("matrix").tBodies].flatMap((body) => [...body.rows]);
  const rows = urls.map((url, column) => {
    const key = JSON.stringify([url, agents, answer.verdicts.map((each) => each[column]), answer.dialects.map((each) => each[column]), about.url === url && about.agent]);
    return said[column]?.key === key ? said[column] : Object.assign(line(url, column), { key });
  });
  const heads = JSON.stringify([agents, answer.delays]);
  if ($("matrix").heads === heads && rows.length === said.length && rows.every((row, place) => row === said[place])) return;
  $("matrix").heads = heads;
  const focused = document.activeElement?.closest?.("#matrix") && document.activeElement.getAttribute("aria-label").replace(/\w+$/, "");  // whatever the verdict is
  const head = element("tr", {}, element("th", { scope: "col" }, "URL"), ...agents.map((agent, row) => element("th", { scope: "col" }, plain(agent), answer.delays[row] === null ? "" : element("span", { class: "soft" }, ` ${answer.delays[row]} s`))));
  $("matrix").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  if (focused) $("matrix").querySelector(`[aria-label^="${CSS.escape(focused)}"]`)?.focus();
}

function line(url, column) {
  const { question: { agents }, answer } = shown, about = inQuestion();
  return element("tr", {},
    element("th", { scope: "row" }, plain(url)),
    ...agents.map((agent, row) => {
      const verdict = answer.verdicts[row][column];
      const others = answer.dialects[row][column].map((each) => dialectName(each.dialect));
      if (verdict.allowed === null) return element("td", { class: "soft", title: verdict.why }, "not a URL");
      const word = verdict.allowed ? "allowed" : "disallowed";
      const button = element("button", {
        type: "button", class: verdict.allowed ? "yes" : "no", title: verdict.why,
        "aria-label": `${agent}, ${url}: ${word}`, "aria-pressed": String(about.agent === agent && about.url === url),
      }, verdict.allowed ? "✓ " : "✗ ", verdict.line ? `l. ${verdict.line}` : verdict.allowed ? "yes" : "no",
      others.length ? element("span", { class: "otherwise" }, `${others.join(", ")}: other`) : "");
      button.addEventListener("click", () => choose(agent, url));  // by keys
      button.addEventListener("mousedown", (event) => {  // a cell that is drawn anew before the release gets no click
        if (event.button) return;
        event.preventDefault();
        choose(agent, url);
        $("matrix").querySelector("[aria-pressed=true]")?.focus();
      });
      return element("td", {}, button);
    }));
}

async function explain() {
  if (!shown) return;
  const explained = shown, about = inQuestion(), { text, dialect } = shown.question;
  const found = await post("explain", { text, ...about, dialect });
  const now = inQuestion();
  if (explained === shown && about.agent === now.agent && about.url === now.url && !found.error) { reason(about, found); editor.reveal(found.rule?.line); }
}

function reason({ agent, url }, found) {
  const lost = found.overridden.map((rule) => element("li", {}, jump(rule.line), " ", element("code", {}, rule.text), ` lost: ${rule.why}`));
  const others = found.dialects.map((each) => element("li", {}, `${dialectName(each.dialect)} reads it otherwise: ${each.allowed ? "allowed" : "disallowed"}`, each.line ? " by " : "", each.line ? jump(each.line) : ""));
  const uses = found.usage.map((each) => element("li", {}, plain(each.why)));
  $("why").replaceChildren(
    element("p", { class: `verdict ${found.allowed ? "yes" : "no"}` }, `${plain(agent)} ${found.allowed ? "may" : "may not"} fetch ${plain(url)}`),
    element("p", {}, found.why, " ", found.rule ? jump(found.rule.line, "show") : "", " ", next({ agent, url }, found)),
    element("p", { class: "soft" }, found.group ? `Group of ${found.group.agents.slice(0, 4).join(", ")}${found.group.agents.length > 4 ? " ..." : ""} (line ${found.group.line})` : "No group applies", found.delay === null ? "" : `; Crawl-delay ${found.delay} s`),
    ...[lost, others, uses].filter((each) => each.length).map((each) => element("ul", {}, ...each)),
  );
  editor.mark(found.rule?.line, found.overridden.map((rule) => rule.line));
}

async function bots() {
  const question = { text: editor.value, dialect: $("dialect").value };
  const found = await post("bots", question);
  if (found.error || question.text !== editor.value || question.dialect !== $("dialect").value) return;  // asked anew
  const open = new Set([...document.querySelectorAll("#bots details[open]")].map((each) => each.dataset.purpose));
  const focused = document.activeElement?.closest?.("#bots") && document.activeElement.getAttribute("aria-label");
  $("stated").replaceChildren(...found.usage.map((each) => element("li", {}, plain(each.why))));
  const blocked = found.bots.filter((each) => each.access === "blocked").length;
  $("bot-count").textContent = blocked ? `${blocked} blocked` : "";
  $("bots").replaceChildren(...Map.groupBy(found.bots, (each) => each.purpose).entries().map(([purpose, each]) => purposeTable(purpose, each, open, question)));
  if (focused) $("bots").querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

function purposeTable(purpose, agents, open, question) {
  const count = (access) => agents.filter((each) => each.access === access).length;
  const counts = ["allowed", "partly", "blocked"].filter(count).map((access) => `${count(access)} ${access}`).join(", ");
  const first = agents.filter((each) => each.asked), rest = agents.filter((each) => !each.asked);
  const more = element("details", { "data-purpose": purpose, ...(open.has(purpose) ? { open: "" } : {}) }, element("summary", {}, `${rest.length} more`), element("table", { "aria-label": `More agents: ${purpose}` }, element("tbody", {}, ...rest.map((each) => botRow(each, question)))));
  return element("section", { class: "purpose" },
    element("div", { class: "row" }, element("h3", {}, purpose), element("span", { class: "soft right" }, counts), toggle(`All agents for ${purpose}`, count("blocked") < agents.length, question, [], purpose)),
    element("table", { "aria-label": `Agents: ${purpose}` }, element("tbody", {}, ...first.map((each) => botRow(each, question)))), ...(rest.length ? [more] : []));
}

function botRow(bot, question) {
  const name = element("button", { type: "button", class: "line", title: `${bot.about}; ${bot.source}`, "aria-label": `Explain ${bot.name}` }, bot.name);
  name.addEventListener("click", () => choose(bot.name, "/"));
  return element("tr", {}, element("th", { scope: "row" }, name, element("span", { class: "soft" }, ` ${bot.operator}`)),
    element("td", {}, element("span", { class: `tag ${{ allowed: "yes", partly: "warning", blocked: "no" }[bot.access]}` }, bot.access)),
    element("td", {}, bot.line ? jump(bot.line, `l. ${bot.line}`) : "", bot.delay === null ? "" : element("span", { class: "soft", title: "Crawl-delay" }, ` every ${bot.delay} s`)),
    element("td", {}, toggle(bot.name, bot.access !== "blocked", question, [bot.name], "")));
}

function toggle(name, on, question, agents, purpose) {
  const button = element("button", { type: "button", role: "switch", class: "switch", "aria-checked": String(on), "aria-label": name }, on ? "on" : "off");
  button.addEventListener("click", async () => {
    await edit(question, { agents, purpose, access: on ? "blocked" : "allowed" }, `${name}: ${on ? "blocked" : "no longer blocked"}`);
  });
  return button;
}

async function edit(question, wish, words) {
  const found = await post("switch", { ...question, ...wish });
  if (question.text !== editor.value) { say("The file has changed: switch again"); return; }
  if (found.error) { $("error").textContent = found.error; return; }
  editor.patch(found.text);
  say(`${words}; Changes shows the effect`);
  latestBots();
}

/** What is next where an answer is not the wanted one: to block for all what may be fetched, or to let in who is blocked from everything. */
function next({ agent, url }, { allowed, rule }) {
  const path = url.startsWith("/") ? url : URL.parse(url)?.pathname ?? "/";
  if (allowed ? path === "/" : !["/", "/*", "*"].includes(rule?.pattern)) return "";
  const [words, wish] = allowed ? [`Block ${plain(path)} for all`, { agents: [], path, access: "blocked" }] : [`Let ${plain(agent)} in`, { agents: [agent], access: "allowed" }];
  const button = element("button", { type: "button" }, words);
  button.addEventListener("click", () => edit({ text: editor.value, dialect: $("dialect").value }, wish, words));
  return button;
}

function jump(line, words = `line ${line}`) {
  const button = element("button", { type: "button", class: "line" }, words);
  button.addEventListener("click", () => editor.show(line));
  return button;
}

function results(tests, names) {
  const failed = tests.filter((test) => !test.holds).length;
  $("test-count").textContent = tests.length ? (failed ? `${failed} of ${tests.length} fail` : `${tests.length} hold`) : "";
  $("results").replaceChildren(...tests.map((test) => element("li", {},
    element("span", { class: `tag ${test.holds ? "yes" : "no"}` }, test.holds ? "holds" : "fails"),
    element("span", {}, test.text, element("span", { class: "soft" }, ` ${[test.holds ? "" : test.why, names[test.agent] ?? ""].filter(Boolean).join("; ")}`)))));
}

const MAX_SHOWN = 100;  // findings of one kind
async function lint() {
  const question = { text: editor.value, dialect: $("dialect").value };
  const found = await post("lint", question);
  if (found.error || question.text !== editor.value || question.dialect !== $("dialect").value) return;
  $("counts").textContent = found.length || "none";
  const said = question.text.split("\n"), fixed = new Set();
  for (const each of found) {
    each.was = said[each.line - 1];
    each.fixable = each.replacement !== null && !fixed.has(each.line);  // one fix for a line: two might contradict
    if (each.fixable) fixed.add(each.line);
  }
  const open = new Set([...document.querySelectorAll("#findings details[open]")].map((each) => each.dataset.code));
  const kinds = Map.groupBy(found, (each) => each.code);
  $("findings").replaceChildren(...kinds.entries().map(([code, each]) => kind(code, each, open, question, kinds.size === 1)));
  editor.annotate(found.map((each) => each.fixable ? each : { ...each, replacement: null }), fix);
}

function kind(code, found, open, question, alone) {
  const safe = found.filter((each) => each.fixable && !each.changes);
  const all = element("button", { type: "button" }, safe.length === 1 ? "Fix the safe one" : `Fix all ${safe.length} safe ones`);
  all.addEventListener("click", () => {
    if (question.text !== editor.value) { say("The file has changed: its findings come anew"); slower(); return; }
    for (const each of safe.toSorted((one, other) => other.line - one.line)) editor.replace(each.line, each.replacement);
    say(`${safe.length} fixed`);
  });
  return element("details", { "data-code": code, class: "kind", ...(open.has(code) || found.length < 6 || alone ? { open: "" } : {}) },
    element("summary", {}, element("span", { class: `tag ${found[0].severity}` }, found[0].severity), " ", element("strong", {}, code), `, ${found.length}`),
    element("p", { class: "row" }, element("a", { href: `lint.html#${code}`, target: "_blank" }, `About ${code}`), ...(safe.length > 1 ? [all] : [])),
    element("ul", { class: "findings" }, ...found.slice(0, MAX_SHOWN).map((each) => {
      const mend = element("button", { type: "button", "aria-label": `Fix line ${each.line}: ${each.message}` }, "Fix");
      mend.addEventListener("click", () => fix(each));
      return element("li", {}, element("div", {}, jump(each.line), " ", each.message, element("div", { class: "soft" }, each.suggestion, each.changes ? " (changes what is read)" : "")), each.fixable ? mend : "");
    })), found.length > MAX_SHOWN ? element("p", { class: "soft" }, `and ${found.length - MAX_SHOWN} more`) : "");
}

function fix(finding) {
  if (editor.value.split("\n")[finding.line - 1] !== finding.was) { say("The file has changed: its findings come anew"); slower(); return; }
  editor.replace(finding.line, finding.replacement);
  say(`Line ${finding.line} changed`);
}

const stated = (value) => value === "unknown" ? "not stated" : value;

async function compare() {
  const question = { old: before, new: editor.value, dialect: $("dialect").value };
  const found = await post("diff", question);
  if (question.old !== before || question.new !== editor.value || question.dialect !== $("dialect").value) return;  // asked anew
  if (found.error) { $("changes").replaceChildren(element("li", {}, found.error)); return; }
  const rows = Map.groupBy(found.changes, (each) => JSON.stringify([each.pattern, each.allowed, each.partly])).values().map((same) => {
    const [each] = same, names = same.slice(0, 4).map(({ agent }) => agent === "*" ? "everybody else" : plain(agent)).join(", ");
    const verb = each.allowed ? "gain" : "lose", more = same.length > 4 ? ` and ${same.length - 4} more` : "";
    return element("li", {}, element("span", { class: `tag ${each.allowed ? "yes" : "no"}` }, `${verb}s`),
      element("span", {}, `${names}${more} ${verb}${same.length > 1 ? "" : "s"} `, element("code", {}, plain(each.pattern)), each.partly ? ` (some paths, such as ${plain(each.path)})` : ""));
  }).toArray();
  const row = (kind, word, words) => rows.push(element("li", {}, element("span", { class: `tag ${kind}` }, word), element("span", {}, plain(words))));
  for (const pattern of found.undecided) row("info", "unknown", `whether paths of ${pattern} changed: it meets too many other patterns`);
  const name = (agent) => agent === "*" ? "everybody else" : agent;
  for (const [agent, [was, now]] of Object.entries(found.usage)) {
    const changes = found.uses[agent] ?? [];
    for (const each of changes) row({ allowed: "yes", disallowed: "no" }[each.after] ?? "info", "use", `${name(agent)}: ${each.purpose}${each.path === null ? "" : ` on ${each.path}`}: ${stated(each.before)} → ${stated(each.after)} (${each.by})`);
    if (!changes.length) row("info", "use", `${name(agent)}: ${was.join("; ") || "nothing stated"} → ${now.join("; ") || "nothing stated"}`);
  }
  for (const [kind, agents] of [["Crawl-delay", found.delays], ["Request-rate", found.rates], ["Visit-time", found.hours]]) for (const [agent, [was, now]] of Object.entries(agents)) row("info", "pace", `${name(agent)}: ${kind} ${was ?? "none"} → ${now ?? "none"}`);
  for (const kind of ["sitemap", "licence", "parameter"]) {
    for (const value of found[`${kind}s_added`]) row("yes", kind, `+ ${value}`);
    for (const value of found[`${kind}s_removed`]) row("no", kind, `− ${value}`);
  }
  if (found.left_out) row("info", "more", `${found.left_out} more paths`);
  $("change-count").textContent = rows.length || "none";
  $("changes").replaceChildren(...(rows.length ? rows : [element("li", { class: "soft" }, "Both mean the same.")]));
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
const soon = latest(judge), latestBots = latest(bots);
function keep() { try { sessionStorage.setItem(KEPT, JSON.stringify(state())); } catch { /* a file too large to be kept */ } }
const slower = inPauses(async () => {
  keep();
  await latestBots(); await lint(); await compare();
});

function tab(name) {
  document.body.dataset.tab = name;
  for (const each of TABS) {
    $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    $(`panel-${each}`).hidden = each !== name;
  }
}

async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

/** The file with the line ends that it came with. */
const written = () => before.includes("\r\n") ? editor.value.replaceAll("\n", "\r\n") : editor.value;

function save(text, download, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The answers and the file as one page that asks nothing of any server. */
async function frozen() {
  const made = document.implementation.createHTMLDocument(`${plain(source)}: comity`), style = await (await fetch("style.css")).text();
  const part = (title, ...ids) => {
    const copies = ids.map((id) => $(id).cloneNode(true)).filter((copy) => !copy.hidden && copy.textContent);
    for (const copy of copies) {
      for (const each of copy.querySelectorAll("a, button")) {
        if (each.closest(".row") || each.matches(".switch") || each.textContent === "Fix") each.remove();
        else each.replaceWith(element("span", each.closest("#matrix") ? { class: `tag ${each.className}` } : {}, each.textContent), each.closest("#matrix") ? element("small", {}, ` ${each.title}`) : "");
      }
    }
    return copies.length ? [element("section", {}, element("h2", {}, title), ...copies)] : [];
  };
  made.documentElement.lang = "en";
  made.head.append(element("meta", { charset: "utf-8" }), element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }), element("meta", { name: "color-scheme", content: "light dark" }),
    element("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'" }));
  made.body.append(element("header", { class: "bar" }, element("h1", {}, "comity ", element("span", {}, plain(source)))), element("main", { class: "plain" },
    element("p", { class: "soft" }, `On ${new Date().toISOString().slice(0, 10)}, read as ${dialectName($("dialect").value)}. Lines are those of the file below.`),
    ...part("Changes", "changes"), ...part("URLs", "verdicts", "sitemaps-part"), ...part("Tests", "results"), ...part("Bots", "stated", "bots"), ...part("Findings", "findings"),
    element("section", {}, element("h2", {}, "robots.txt"), element("pre", { tabindex: "0" }, editor.value.split("\n").map((line, at) => `${String(at + 1).padStart(4)}  ${line}`).join("\n")))));
  return `<!doctype html>${made.documentElement.outerHTML.replace("</head>", () => `<style>${style}</style></head>`)}`;
}

const unread = (text) => text.includes("\ufffd") ? " (bytes that are not UTF-8 are shown and saved as \ufffd)" : "";

async function opened(file) {
  const text = await file.text();
  try {
    if (!file.name.endsWith(".json")) throw new Error("a robots.txt");
    restore({ ...FRESH, ...JSON.parse(text) });
    soon(); slower();
  } catch { load(text, file.name + unread(text)); }
  say(`${file.name} opened`);
}

async function begin() {
  let saved = {};
  try { saved = JSON.parse(sessionStorage.getItem(KEPT)) ?? {}; } catch { /* none is kept */ }
  try { if (location.hash.length > 1 && location.hash !== "#example") saved = JSON.parse(await unpacked(location.hash.slice(1))); } catch { say("The link cannot be read"); }
  saved = { ...FRESH, text: "", ...saved };
  tab("bots");
  if (TABS.includes(saved.tab) && $(`tab-${saved.tab}`).offsetParent) tab(saved.tab);  // a phone has one more
  restore(saved);
  $("why").textContent = "Loading ...";
  const { agents, dialects, crawl } = await known();
  if (crawl) $("to-dashboard").hidden = false;
  $("dialect").append(...dialects.map((name) => element("option", { value: name }, dialectName(name))));
  restore({ dialect: saved.dialect, old: saved.old });
  if (saved.text) $("fetched").textContent = plain(source);
  const kinds = new Map();
  for (const each of agents) {
    if (!kinds.has(each.purpose)) { kinds.set(each.purpose, element("optgroup", { label: each.purpose })); $("known").append(kinds.get(each.purpose)); }
    kinds.get(each.purpose).append(element("option", { value: each.name, title: `${each.source}, ${each.read}` }, `${each.name} (${each.operator}${each.about && ": "}${each.about})`));
  }
  for (const id of ["agents", "urls", "tests", "dialect"]) $(id).addEventListener("input", () => { soon(); if (id === "dialect") slower(); });
  editor.addEventListener("change", () => {
    // of the example, once another text stands in its place, nothing is left
    if (example && !EXAMPLE.text.split("\n").some((each) => each && editor.value.includes(each))) { restore({ ...FRESH, source: "an empty file", old: "" }); $("fetched").textContent = ""; }
    if (source === "an empty file") $("fetched").textContent = "";
    soon(); slower();
  });
  for (const name of TABS) $(`tab-${name}`).addEventListener("click", () => tab(name));
  document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const seen = TABS.filter((name) => $(`tab-${name}`).offsetParent !== null);
    if (!step) return;
    const next = seen[(seen.indexOf(document.body.dataset.tab) + step + seen.length) % seen.length];
    tab(next);
    $(`tab-${next}`).focus();
  });
  $("known").addEventListener("change", () => {
    if ($("known").value && !lines("agents").includes($("known").value)) $("agents").value = [...lines("agents"), $("known").value].join("\n");
    $("known").value = "";
    soon();
  });
  $("keep").addEventListener("click", () => { before = written(); source = "the file as it was"; $("against").textContent = source; compare(); say("Changes count from here"); });
  $("example").addEventListener("click", (event) => { event.preventDefault(); restore({ ...FRESH, ...EXAMPLE }); $("fetched").textContent = "The example is open."; soon(); slower(); });
  let shared = "";
  addEventListener("hashchange", async () => {
    const own = location.hash === shared;
    shared = "";
    if (own || location.hash.length < 2) return;
    try { restore({ ...FRESH, ...JSON.parse(await unpacked(location.hash.slice(1))) }); } catch { say("The link cannot be read"); }
    soon(); slower();
  });
  $("share").addEventListener("click", async () => {
    shared = `#${await packed(JSON.stringify(state()))}`;
    location.hash = shared;
    try { await navigator.clipboard.writeText(location.href); say("Link copied"); } catch { say("The link is in the address bar"); }
  });
  $("save").addEventListener("click", () => save(written(), "robots.txt", "text/plain"));
  $("freeze").addEventListener("click", async () => save(await frozen(), "robots.html", "text/html"));
  $("open").addEventListener("change", () => { if ($("open").files[0]) opened($("open").files[0]); $("open").value = ""; });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) opened(event.dataTransfer.files[0]); });
  let fetching = 0;
  $("site").addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!text.includes("\n") && !/^\s*user-agent\s*:/i.test(text)) return;
    event.preventDefault();
    fetching++;
    load(text, "pasted");
  });
  $("ask").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = $("site").value.trim(), mine = ++fetching;
    if (!given) return;
    const look = (url) => { if (!lines("urls").includes(url)) $("urls").value = [...lines("urls"), url].join("\n"); chosen = { agent: lines("agents")[0] ?? "MyBot", url }; tab("urls"); soon(); };
    if (given.startsWith("/")) { look(given); return; }
    if ("alone" in document.documentElement.dataset) { $("error").textContent = "This page fetches nothing: paste or drop the robots.txt, or run comity serve"; return; }
    $("fetched").textContent = "Fetching ...";
    const found = await post("fetch", { url: given });
    if (mine !== fetching) return;  // something else was asked for
    $("error").textContent = found.error ?? "";
    $("fetched").textContent = found.error ? "" : `${found.url} answered ${found.status}`;
    if (found.error) return;
    load(found.text, found.url);
    $("fetched").textContent = `${plain(found.url)} answered ${found.status}${unread(found.text)}`;
    const url = new URL(given.includes("://") ? given : `https://${given}`);
    if (url.pathname !== "/" && url.pathname !== "/robots.txt") look(url.pathname + url.search);
  });
  addEventListener("pagehide", keep);
  await judge();
  await bots();
  await lint();
  await compare();
  document.documentElement.dataset.ready = "yes";
}
started(begin);
