// What the pages share: elements made from text, questions to the API, a word to the user.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export async function post(name, question) {
  try {
    const answer = await fetch(`/api/${name}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) });
    return await answer.json();
  } catch { return { error: "comity serve does not answer: is it still running?" }; }
}

let timer;
export function say(words) {
  const place = document.getElementById("said");
  place.textContent = words;
  place.classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => place.classList.remove("on"), 2500);
}
