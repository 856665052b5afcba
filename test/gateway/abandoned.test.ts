import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, json, silence, sse } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** A provider has read, and bills, the input of a call whose client disconnects before any output. */
let world: World;
beforeAll(async () => {
  world = await World.startCounting({
    tail: `
[[models]]
id = "costly"
provider = "openai"
context_window = 200000
price = { input = 100.0, output = 1.0 }

[[models]]
id = "compacting"
provider = "local"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
`,
  });
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** 30,000 tokens, which cost 0.03 credits. */
const content = "word ".repeat(30_000);
const inputNano = (tokens: number) => tokens * 1_000;
const chat = { ...hello("chat", "gpt-test"), messages: [{ role: "user", content }], max_tokens: 10 };

const roleChunk: Answer = {
  ...sse(""),
  steps: [{ write: streamEvents("chat", { text: "" })[0] ?? "" }, { stall: true }],
};
const begunWhole: Answer = { ...json({}), framing: "chunked", steps: [{ write: '{"id":' }, { stall: true }] };

/** Leaves as soon as the provider has accepted the call. */
async function abandon(caller: Caller, body: object, path = paths.chat): Promise<void> {
  const leaving = new AbortController();
  const asked = world.provider.requests.length;
  const asking = world.ask(caller, { path, body, signal: leaving.signal });
  const reading = asking.then((response) => response.body?.getReader().read()).catch(() => null);
  await waitFor(() => world.provider.requests.length > asked, "the provider to be asked");
  await Bun.sleep(100);
  leaving.abort();
  await reading;
  await world.settled();
}

const forms = {
  "a stream that is left at its role chunk": [{ ...chat, stream: true }, roleChunk],
  "a whole response that is left as it comes": [chat, begunWhole],
} as const;

describe.each(Object.entries(forms))("%s", (_, [body, answer]) => {
  test("is free until the account's allowance is used up, and then costs its counted input", async () => {
    const caller = await world.creditCaller();
    world.provider.script(answer);
    // The fourth crosses 0.10 credits.
    for (let times = 0; times < 4; times += 1) await abandon(caller, body);
    expect(await world.chargesOf(caller)).toEqual([]);
    await abandon(caller, body);
    const charges = await world.chargesOf(caller);
    expect(charges).toMatchObject([{ outcome: "cancelled", basis: "estimated" }]);
    expect(-(charges[0]?.amount ?? 0)).toBeWithin(inputNano(30_000), inputNano(30_010));
    expect(world.provider.aborted).toHaveLength(5);
    expect(world.observed.at(-1)).toMatchObject({ outcome: "cancelled" });
  });

  test("is free up to 10,000 tokens of a budget", async () => {
    const caller = await world.tokenCaller(1_000_000);
    world.provider.script(answer);
    await abandon(caller, body);
    expect(await world.chargesOf(caller)).toEqual([]);
    await abandon(caller, body);
    expect(-((await world.chargesOf(caller))[0]?.amount ?? 0)).toBeWithin(30_000, 30_010);
  });

  test("costs nothing more for an account that is charged a hundred times as much", async () => {
    const caller = await world.creditCaller(100);
    world.provider.script(wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", 190_000, 10) }));
    await (
      await world.ask(caller, { path: paths.chat, body: hello("chat", "costly", { max_tokens: 10 }) })
    ).text();
    const before = (await world.chargesOf(caller)).length;
    world.provider.script(answer);
    for (let times = 0; times < 5; times += 1) await abandon(caller, body);
    expect(await world.chargesOf(caller)).toHaveLength(before);
  });
});

test("a stream that compacts a conversation is charged in the same way", async () => {
  const caller = await world.creditCaller();
  world.provider.script(roleChunk);
  const said = { type: "message", role: "user", content: [{ type: "input_text", text: content }] };
  const body = { model: "compacting", stream: true, input: [said, { type: "compaction_trigger" }] };
  for (let times = 0; times < 5; times += 1) {
    const leaving = new AbortController();
    const asked = world.provider.requests.length;
    const ask = { path: paths.responses, body, signal: leaving.signal };
    const asking = world.ask(caller, ask).then((response) => response.text());
    await waitFor(() => world.provider.requests.length > asked, "the provider to be asked");
    await waitFor(() => world.gateway.accounts.openHolds === 1, "the hold");
    await Bun.sleep(100);
    leaving.abort();
    await asking.catch(() => null);
    await world.settled();
  }
  const charges = await world.chargesOf(caller);
  expect(charges).toMatchObject([{ outcome: "cancelled", basis: "estimated" }]);
  expect(-(charges[0]?.amount ?? 0)).toBeGreaterThan(inputNano(30_000));
});

test("a client that disconnects often is never rejected for it", async () => {
  const caller = await world.creditCaller();
  world.provider.script(begunWhole);
  const small = hello("chat", "gpt-test");
  const leaving = new AbortController();
  const asking = Array.from({ length: 30 }, () =>
    world.ask(caller, { path: paths.chat, body: small, signal: leaving.signal }).catch(() => null),
  );
  await waitFor(() => world.provider.requests.length === 30, "all to be asked");
  leaving.abort();
  await Promise.all(asking);
  world.provider.script(wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", 5, 1) }));
  expect((await world.ask(caller, { path: paths.chat, body: small })).status).toBe(200);
});

/** Leaves before the headers, as soon as the provider has the whole request. */
async function leaveEarly(caller: Caller, path: string, body: object): Promise<void> {
  const leaving = new AbortController();
  const arriving = world.provider.nextRequest();
  const asking = world.ask(caller, { path, body, signal: leaving.signal }).catch(() => null);
  await arriving;
  leaving.abort();
  await asking;
  await world.settled();
}

const long = {
  chat: { ...hello("chat", "gpt-test"), messages: [{ role: "user", content }], max_tokens: 10 },
  responses: { ...hello("responses", "gpt-test"), input: content, max_output_tokens: 16 },
  messages: { ...hello("messages", "claude-test"), messages: [{ role: "user", content }], max_tokens: 10 },
} as const;
const dialects = ["chat", "responses", "messages"] as const;
const requests = dialects.flatMap((dialect) =>
  [false, true].map((stream) => [dialect, stream ? "a stream" : "a whole response", stream] as const),
);

describe.each(requests)("%s, %s whose client leaves before the headers", (dialect, _, stream) => {
  test("costs its counted input beyond the allowance, however early that is", async () => {
    const caller = await world.creditCaller();
    world.provider.script(silence());
    for (let times = 0; times < 4; times += 1)
      await leaveEarly(caller, paths[dialect], { ...long[dialect], stream });
    expect(await world.chargesOf(caller)).toEqual([]);
    await leaveEarly(caller, paths[dialect], { ...long[dialect], stream });
    const charges = await world.chargesOf(caller);
    expect(charges).toMatchObject([{ outcome: "cancelled", basis: "estimated" }]);
    expect(-(charges[0]?.amount ?? 0)).toBeWithin(inputNano(30_000), inputNano(33_000));
  });
});

test("a request that did not leave whole costs nothing, however often it is abandoned", async () => {
  // A server that accepts connections and reads nothing.
  const deaf = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket) => void socket.pause(), data() {} },
  });
  await using other = await World.startCounting({
    tail: `
[providers.deaf]
kind = "openai-compatible"
base_url = "http://127.0.0.1:${deaf.port}/v1"

[[models]]
id = "deaf"
provider = "deaf"
context_window = 100000000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
`,
  });
  const caller = await other.creditCaller(100);
  const huge = "word ".repeat(4_000_000);
  const body = { ...hello("chat", "deaf"), messages: [{ role: "user", content: huge }], max_tokens: 10 };
  for (let times = 0; times < 2; times += 1) {
    const leaving = new AbortController();
    const asking = other.ask(caller, { path: paths.chat, body, signal: leaving.signal }).catch(() => null);
    await waitFor(() => other.gateway.accounts.openHolds === 1, "the hold");
    await Bun.sleep(300);
    leaving.abort();
    await asking;
    await other.settled();
  }
  expect(await other.chargesOf(caller)).toEqual([]);
  deaf.stop(true);
}, 60_000);

test("warming the provider's cache by abandoned streams is no cheaper than asking", async () => {
  const long = { ...chat, stream: true };
  const caller = await world.creditCaller();
  world.provider.script(roleChunk);
  for (let times = 0; times < 20; times += 1) await abandon(caller, long);
  const charged = (await world.chargesOf(caller)).reduce((sum, { amount }) => sum - amount, 0);
  expect(charged).toBeGreaterThanOrEqual(inputNano(16 * 30_000));
});
