// Answers the workbench without a server: comity's plain form on Pyodide, in a worker. URLs are the browser's own.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const WHATWG = `
import js, sys, types
made = types.ModuleType("ada_url")
def join_url(base, reference):
    try:
        return js.URL.new(reference, base).href
    except Exception:
        raise ValueError("Invalid URL") from None
def normalize_url(url):
    try:
        return js.URL.new(url).href
    except Exception:
        raise ValueError("Invalid URL") from None
made.join_url, made.normalize_url = join_url, normalize_url
sys.modules["ada_url"] = made
import json
from comity.errors import ComityError
from comity.web import workbench
def answer(name, question):
    if name == "agents":
        return json.dumps({"agents": workbench.known_agents(), "dialects": workbench.DIALECTS, "crawl": None})
    try:
        return json.dumps(workbench.QUESTIONS[name](**json.loads(question)))
    except (ValueError, ComityError) as error:
        return json.dumps({"error": str(error)})
answer
`;

async function begun() {
  const python = await loadPyodide();
  python.unpackArchive(await (await fetch("comity.zip")).arrayBuffer(), "zip");
  return python.runPython(WHATWG);
}
const answering = begun();

onmessage = async ({ data }) => {
  let answer;
  try { answer = JSON.parse((await answering)(data.name, JSON.stringify(data.question))); }
  catch (error) { answer = { error: `The workbench could not be started here: ${error.message}` }; }
  postMessage({ id: data.id, answer });
};
