// Asks the server in a worker: what a long file takes to be written as a question holds up no key.
onmessage = async ({ data: { id, name, question } }) => {
  let answer;
  try {
    const response = await fetch(`/api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) });
    answer = response.headers.get("content-type") === "application/json" ? await response.json() : { error: `comity serve failed (status ${response.status}): its terminal says why` };
  } catch { answer = { error: "comity serve does not answer: is it still running?" }; }
  postMessage({ id, answer });
};
