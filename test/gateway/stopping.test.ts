import { expect, test } from "bun:test";
import { answerFrom } from "../support/fixtures.ts";
import { hello, paths } from "./wire-answers.ts";
import { World } from "./world.ts";

/** A collector of traces that refuses them, or does not answer at all. */
const collectors: readonly (readonly [what: string, answer: () => Response | Promise<Response>])[] = [
  ["refuses", () => new Response("no", { status: 400 })],
  ["does not answer", () => new Promise<Response>(() => {})],
];

test.each(collectors)(
  "a gateway whose collector of traces %s stops all the same, and closes its store",
  async (_what, answer) => {
    using collector = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
    const world = await World.start({ head: `[tracing]\notlp_endpoint = "${collector.url}"\n` });
    world.provider.script(answerFrom("chat/text.json"));
    const caller = await world.creditCaller();
    const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
    expect(response.status).toBe(200);
    await response.text();
    await world[Symbol.asyncDispose]();
    expect(await fetch(`${world.running.url}/healthz`).catch(() => null)).toBeNull();
    expect(await world.running.store.currentRevision().catch(() => "closed")).toBe("closed");
  },
);

test("a gateway that has stopped leaves nothing behind in its process", async () => {
  const listeners = () => process.listenerCount("exit");
  const before = listeners();
  const world = await World.start();
  await world[Symbol.asyncDispose]();
  expect(listeners()).toBe(before);
});
