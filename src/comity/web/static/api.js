// The API's page, made from its OpenAPI document.
import { element, started } from "./common.js";

started(async () => {
  const { paths } = await (await fetch("/api/openapi.json")).json();
  document.getElementById("paths").append(...Object.entries(paths).map(([path, { post }]) => {
    const { properties, required } = post.requestBody.content["application/json"].schema;
    const rows = Object.entries(properties).map(([name, schema]) => element("tr", {}, element("th", { scope: "row" }, element("code", {}, name)), element("td", {}, schema.type === "array" ? "list of text" : "text"), element("td", {}, required.includes(name) ? "required" : "")));
    return element("section", {}, element("h2", { id: path }, path), element("p", {}, post.summary), element("div", { class: "wide", tabindex: "0", role: "group", "aria-labelledby": path }, element("table", {}, element("tbody", {}, ...rows))));
  }));
});
