/**
 * The floor: the least that a proxy written in Bun can do. It reads the body, parses it once and forwards
 * the same bytes; no keys, no limits, no money, no log. A process of its own.
 */

const [upstream] = process.argv.slice(2);
if (upstream === undefined) throw new Error("usage: bare-proxy.ts UPSTREAM");

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const text = await request.text();
    const { stream }: { stream?: boolean } = JSON.parse(text);
    const path = request.url.slice(request.url.indexOf("/", 8));
    const answer = await fetch(upstream + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer bench" },
      body: text,
    });
    const headers = { "content-type": answer.headers.get("content-type") ?? "" };
    const body = stream === true ? answer.body : await answer.arrayBuffer();
    return new Response(body, { status: answer.status, headers });
  },
});
console.log(`listening on http://127.0.0.1:${server.port}`);
