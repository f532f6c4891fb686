// Bundles other people's code for the page: `npm ci && npm run build`. The result is committed, so nobody else needs npm.
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";

const target = new URL("../packages/comity/src/comity/web/static/vendor/", import.meta.url).pathname;
mkdirSync(target, { recursive: true });
const result = await build({
  entryPoints: ["vendor.mjs"], outfile: `${target}vendor.js`, bundle: true, minify: true, format: "esm",
  target: "es2022", legalComments: "none", metafile: true,
});

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const match = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (match) packages.add(match[1]);
}
const parts = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  const words = licence ? readFileSync(`${folder}/${licence}`, "utf8").trim() : `Licence: ${about.license}`;
  return `${name} ${about.version} (${about.license})\n\n${words}\n`;
});
writeFileSync(`${target}LICENCES.txt`, parts.join(`\n${"-".repeat(80)}\n\n`));
console.log([...packages].sort().join("\n"));
