import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { type Caller, World } from "../gateway/world.ts";
import { upstreamKeys } from "../support/config.ts";

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail: '[content]\n[admin]\ntoken = "env:TEST_OPENAI_KEY"\n' });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Costs nothing, because no item of the list is valid, and takes long to parse. */
async function recordRejected(more: object): Promise<string> {
  const input = Array.from({ length: 150_000 }, () => [0]);
  const body = { model: "gpt-test", input, ...more };
  const response = await world.ask(caller, { path: "/v1/responses", body });
  await response.text();
  expect(response.status).toBe(400);
  return response.headers.get("x-request-id") ?? "";
}

function read(id: string): Promise<Response> {
  const headers = { authorization: `Bearer ${upstreamKeys.TEST_OPENAI_KEY}` };
  return fetch(`${world.running.url}/admin/api/v1/requests/${id}/content`, { headers });
}

test.each([["previous_response_id"], ["conversation"]])(
  "a large document with `%s` is not parsed on the event loop, where it would hold everybody up",
  async (name) => {
    const id = await recordRejected({ [name]: "resp_unknown" });
    await world.settled();
    const parse = spyOn(JSON, "parse");
    const response = await read(id);
    const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    parse.mockRestore();
    const document = (await response.json()) as { request: Record<string, unknown> };
    expect(document.request[name]).toBe("resp_unknown");
    expect(document).not.toHaveProperty("conversation");
    expect(longest).toBeLessThan(10_000);
  },
);

test("a person's documents are read one at a time, and only some wait", async () => {
  const id = await recordRejected({ conversation: "conv_unknown" });
  const responses = await Promise.all(Array.from({ length: 70 }, () => read(id)));
  const statuses = responses.map(({ status }) => status).toSorted();
  expect(statuses.slice(0, 51)).toEqual(Array(51).fill(200));
  expect(statuses.at(-1)).toBe(429);
  const refused = responses.find(({ status }) => status === 429);
  expect(refused?.headers.get("retry-after")).toBe("1");
  expect(await refused?.text()).toContain("too many documents at once");
});
