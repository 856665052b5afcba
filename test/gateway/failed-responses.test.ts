import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { json, sse } from "../support/answers.ts";
import { talker } from "./pairs.ts";
import { hello, paths, streamEvents, usageOf } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const failed = {
  ...{ id: "resp_up", object: "response", created_at: 1, model: "up", status: "failed", output: [] },
  usage: usageOf("responses", 100, 20),
};

/** Up to some event, and then the one that says that the response has failed. */
function failingStream(last: string, error: object) {
  const events = streamEvents("responses", { text: "Sluices keep the canal navigable." });
  const shown = events.slice(0, events.findIndex((event) => event.includes(last)) + 1);
  const event = { type: "response.failed", sequence_number: shown.length, response: { ...failed, error } };
  return sse(`${shown.join("")}event: response.failed\ndata: ${JSON.stringify(event)}\n\n`);
}

const charged = [{ amount: -(100 * 1_000 + 20 * 2_000), basis: "measured", outcome: "failed" }] as const;
const error = { code: "server_error", message: "It broke." };

describe("a response that fails with usage is charged by it", () => {
  for (const client of ["chat", "messages", "responses"] as const) {
    for (const last of ["response.created", '"delta":" keep"']) {
      test(`to a client of ${client}, after ${last}`, async () => {
        const caller = await world.creditCaller();
        world.provider.script(failingStream(last, error));
        const body = hello(client, "talker", {
          stream: true,
          ...(client === "messages" ? { max_tokens: 50 } : {}),
        });
        const text = await (await world.ask(caller, { path: paths[client], body })).text();
        expect(text).toContain("It broke.");
        // The other dialects have no place for usage beside an error.
        if (client === "responses") expect(text).toContain('"usage":{"input_tokens":100,');
        expect(await world.chargesOf(caller)).toEqual([...charged]);
      });
    }
  }

  test("whatever kind of error it reports, which the client is told as before", async () => {
    const caller = await world.creditCaller();
    const invalid = { code: "invalid_prompt", message: "No such thing." };
    world.provider.script(failingStream('"delta":" keep"', invalid));
    const body = hello("chat", "talker", { stream: true });
    const text = await (await world.ask(caller, { path: paths.chat, body })).text();
    expect(text).toContain('"code":"invalid_prompt"');
    expect(text).toContain("No such thing.");
    expect(await world.chargesOf(caller)).toEqual([...charged]);
  });

  test("as a whole that names no error", async () => {
    const caller = await world.creditCaller();
    world.provider.script(json(failed as never));
    const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "talker") });
    expect(response.status).toBe(502);
    expect(await world.chargesOf(caller)).toEqual([...charged]);
  });
});
