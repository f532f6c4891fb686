// Answers questions about robots.txt files with robots-parser: a line of JSON in, a line of JSON out.
import readline from "node:readline";
import parser from "robots-parser";

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { body, cases } = JSON.parse(line);
  const text = Buffer.from(body, "base64").toString("utf8");
  const answers = [];
  const parsed = new Map(); // the parser belongs to an origin
  const began = process.hrtime.bigint();
  for (const [agent, url] of cases) {
    try {
      const own = new URL("/robots.txt", url).href;
      if (!parsed.has(own)) parsed.set(own, parser(own, text));
      const answer = parsed.get(own).isAllowed(url, agent);
      answers.push(answer === undefined ? -1 : Number(answer));
    } catch {
      answers.push(-1);
    }
  }
  console.log(JSON.stringify({ answers, seconds: Number(process.hrtime.bigint() - began) / 1e9 }));
}
