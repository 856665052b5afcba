import { expect, test } from "bun:test";
import { framesHeader, framesType, inFrames, readFrames } from "../../../src/base/requests/frames.ts";

const asked = () => new Request("http://gateway/", { headers: { [framesHeader]: "1" } });
const failed = (error: unknown) => new Response(String(error), { status: 500 });
const framed = (request: Request, work: (report: (text: string) => void) => Promise<Response>) =>
  inFrames({ request, headers: () => ({}), work, failed });

/** A response that is not ready at once. */
function later() {
  const { promise, resolve } = Promise.withResolvers<Response>();
  return { promise, resolve };
}

async function slowly(request: Request, response: Response, texts: readonly string[] = []) {
  const working = later();
  const sent = await framed(request, (report) => {
    for (const text of texts) report(text);
    return working.promise;
  });
  return { sent, answer: () => working.resolve(response) };
}

test("a response that takes long arrives whole, behind notes of its progress", async () => {
  const { sent, answer } = await slowly(asked(), Response.json({ rows: 2 }, { status: 409 }), ["1 of 2"]);
  expect(sent.headers.get("content-type")).toBe(framesType);
  const notes: (string | null)[] = [];
  const read = await readFrames(sent, (note) => {
    notes.push(note);
    if (note !== null) answer();
  });
  expect([read.status, read.headers.get("content-type"), await read.json()]).toEqual([
    409,
    expect.stringContaining("application/json"),
    { rows: 2 },
  ]);
  expect(notes[0]).toBe("1 of 2");
});

test("a response that is ready, or whose client reads no frames, is sent as it is", async () => {
  const ready = Response.json({});
  expect(await framed(asked(), async () => ready)).toBe(ready);
  const unasked = framed(new Request("http://gateway/"), () => Bun.sleep(1_100).then(() => ready));
  expect(await unasked).toBe(ready);
});

test("a long text arrives in the pieces of any connection", async () => {
  const text = "line of an export\n".repeat(50_000);
  const { sent, answer } = await slowly(asked(), new Response(text));
  answer();
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.length; at += 4_099) controller.enqueue(chunk.slice(at, at + 4_099));
    },
  });
  const { body, headers } = sent;
  const read = await readFrames(new Response(body?.pipeThrough(cut), { headers }), () => {});
  expect((await read.text()) === text).toBe(true);
});

test("a response that breaks off is an error, and not a short one", async () => {
  const { sent, answer } = await slowly(asked(), new Response("all of it"));
  answer();
  const bytes = await sent.bytes();
  const broken = new Response(bytes.slice(0, -5), { headers: sent.headers });
  const read = await readFrames(broken, () => {});
  expect(await read.text().catch(String)).toContain("ended before the response was complete");
});

test("a compressed response is readable, and a failure after the first note is a response", async () => {
  const text = "a row of a long list\n".repeat(5_000);
  const compressed = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
  const { sent, answer } = await slowly(
    asked(),
    new Response(compressed, { headers: { "content-encoding": "gzip" } }),
  );
  answer();
  const read = await readFrames(sent, () => {});
  expect([(await read.text()) === text, read.headers.get("content-encoding")]).toEqual([true, null]);
  const failing = await framed(asked(), () =>
    Bun.sleep(1_100).then(() => {
      throw new Error("a bug");
    }),
  );
  const failure = await readFrames(failing, () => {});
  expect([failure.status, await failure.text()]).toEqual([500, "Error: a bug"]);
});
