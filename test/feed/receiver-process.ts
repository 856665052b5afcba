import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";

/** A receiver as a process of its own: it drops repeats by their Idempotency-Key, and can be killed at any moment. */

const [port = "", file = "", pauseMs = "0"] = process.argv.slice(2);

// What was being written when it was killed is not a line yet.
if (existsSync(file)) truncateSync(file, readFileSync(file).lastIndexOf("\n") + 1);
const known = new Set(existsSync(file) ? readFileSync(file, "utf8").split("\n").map(keyOf) : []);

Bun.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  async fetch(request) {
    const key = request.headers.get("idempotency-key") ?? "";
    const body = await request.text();
    if (known.has(key)) return new Response("known");
    appendFileSync(file, `${key} ${body}\n`);
    known.add(key);
    await Bun.sleep(Number(pauseMs));
    return new Response("ok");
  },
});

function keyOf(line: string): string {
  return line.slice(0, line.indexOf(" "));
}
