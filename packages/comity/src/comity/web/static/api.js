// The API's page, made from its OpenAPI document.
import { element, known, started } from "./common.js";

const question = { text: "User-agent: GPTBot\nDisallow: /blog", agents: ["GPTBot"], urls: ["/blog/lamps"] };
document.getElementById("example").textContent = `curl -H 'content-type: application/json' ${location.origin}/api/check \\\n  -d '${JSON.stringify(question)}'`;
started(async () => {
  document.getElementById("to-dashboard").hidden = !(await known()).crawl;
  const { paths } = await (await fetch("/api/openapi.json")).json();
  document.getElementById("paths").append(...Object.entries(paths).map(([path, { post }]) => {
    const { properties, required } = post.requestBody.content["application/json"].schema;
    const rows = Object.entries(properties).map(([name, schema]) => element("tr", {}, element("th", { scope: "row" }, element("code", {}, name)), element("td", {}, schema.type === "array" ? "list of text" : "text"), element("td", {}, required.includes(name) ? "required" : "")));
    return element("section", {}, element("h2", { id: path }, path), element("p", {}, post.summary), element("div", { class: "wide", tabindex: "0", role: "group", "aria-labelledby": path }, element("table", {}, element("tbody", {}, ...rows))));
  }));
});
