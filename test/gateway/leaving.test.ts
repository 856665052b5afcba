import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { ClientCall } from "../../src/gateway/exchange/client-call.ts";
import { clientOrigin } from "../../src/gateway/exchange/origin.ts";
import { routes } from "../../src/gateway/operations.ts";
import { respond } from "../../src/http/respond.ts";
import { type Answer, json, openAiError, silence, sse, text } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";
import { type Caller, World } from "./world.ts";

/** Whenever a client leaves, everything comes back: its place here and at the provider, its claim, its hold. */
let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await World.start({
    head: "[server]\nmax_concurrent_per_key = 2\n",
    provider: "max_concurrent = 1",
    tail: `
[[models]]
id = "say"
provider = "openai"
upstream_model = "audio-upstream"
serves = ["speech"]
price = { characters = 15.0 }
`,
  });
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());
afterEach(() => world.provider.reset());

const path = "/v1/chat/completions";
const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

/** Asks without a connection, so that the moment of leaving is the test's to choose. */
function ask(
  more: object = {},
  on = path,
  { secret } = caller,
  headers: Readonly<Record<string, string>> = { "idempotency-key": crypto.randomUUID() },
): { response: Promise<Response>; leave: () => void } {
  const client = new AbortController();
  const route = routes.find((each) => each.path === on);
  if (route === undefined) throw new Error(`there is no route ${on}`);
  const call: ClientCall = {
    request: new Request(`http://localhost${on}`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, ...headers },
      body: JSON.stringify("input" in more ? more : { ...body, ...more }),
      signal: client.signal,
    }),
    route,
    address: "127.0.0.1",
    origin: clientOrigin,
    isForwarded: false,
    keepWaiting: () => undefined,
    disconnect: () => undefined,
  };
  return { response: respond(world.gateway, call, route), leave: () => client.abort() };
}

function health() {
  const deployments = world.gateway.configured.upstream.health();
  const sum = (count: (each: (typeof deployments)[number]) => number) =>
    deployments.reduce((total, each) => total + count(each), 0);
  return { inFlight: sum(({ inFlight }) => inFlight), waiting: sum(({ waiting }) => waiting) };
}

/** Nothing is held, queued or charged, and the provider's only concurrency slot is free again. */
async function expectAllGivenBack(): Promise<void> {
  await world.settled();
  await waitFor(() => health().inFlight === 0 && health().waiting === 0, "the provider's place to be free");
  expect(await world.chargesOf(caller)).toEqual([]);
  world.provider.script(openAiError(400, "asked again, and free of charge"));
  const { response } = ask();
  expect((await response).status).toBe(400);
  await world.settled();
}

describe("a client that leaves", () => {
  test("before its stream is pulled, and pays for what has come of it", async () => {
    const leaver = await world.creditCaller();
    world.provider.script(answerFrom("chat/text.sse"));
    const { response, leave } = ask({ stream: true }, path, leaver);
    expect((await response).status).toBe(200);
    expect(world.gateway.ongoing.size).toBe(1);
    leave();
    await expectAllGivenBack();
    expect(await world.chargesOf(leaver)).toMatchObject([{ basis: "measured", outcome: "cancelled" }]);
  });

  test.each([
    ["sound", {}, text("a sound", "audio/mpeg")],
    ["events", { stream_format: "sse" }, sse('data: {"type":"speech.audio.done"}\n\n')],
  ])(
    "before %s is pulled that the provider bills anyway, and pays for all of it",
    async (_what, asked, said) => {
      const leaver = await world.creditCaller();
      world.provider.script({ ...said, framing: "chunked" });
      const speech = { model: "say", input: "four", voice: "alloy", ...asked };
      const { response, leave } = ask(speech, "/v1/audio/speech", leaver, {});
      expect((await response).status).toBe(200);
      leave();
      expect(await world.chargesOf(leaver)).toMatchObject([{ amount: -60_000, outcome: "cancelled" }]);
      expect(world.provider.aborted).toHaveLength(0);
    },
  );

  for (const stream of [false, true]) {
    test(`while the provider thinks about its ${stream ? "stream" : "answer"}`, async () => {
      world.provider.script(silence());
      const { response, leave } = ask({ stream });
      await world.provider.nextRequest();
      leave();
      await response;
      await expectAllGivenBack();
    });
  }

  test("while a whole answer is on its way", async () => {
    const begun: Answer = { ...json({}), framing: "chunked", steps: [{ write: '{"id":' }, { stall: true }] };
    world.provider.script(begun);
    const { response, leave } = ask();
    await world.provider.nextRequest();
    leave();
    await response;
    await expectAllGivenBack();
  });

  test("while it waits for a place at the provider", async () => {
    world.provider.script(silence());
    const first = ask();
    await world.provider.nextRequest();
    const second = ask();
    await waitFor(() => world.gateway.accounts.openHolds === 2, "both to hold");
    second.leave();
    await second.response;
    expect(world.gateway.accounts.openHolds).toBe(1);
    first.leave();
    await first.response;
    expect(world.provider.requests).toHaveLength(1);
    await expectAllGivenBack();
  });

  test("between two attempts", async () => {
    world.provider.script(openAiError(500, "oops"));
    const { response, leave } = ask();
    await (await world.provider.nextRequest()).over;
    await waitFor(() => health().inFlight === 0, "the first attempt to fail");
    leave();
    await response;
    expect(world.provider.requests).toHaveLength(1);
    await expectAllGivenBack();
  });

  test("while its tokens are counted", async () => {
    world.provider.script(silence());
    const { response, leave } = ask({ model: "claude-test" }, "/v1/messages/count_tokens");
    await world.provider.nextRequest();
    leave();
    await response;
    await waitFor(() => health().inFlight === 0, "the provider's place to be free");
    expect(await world.gateway.ongoing.drained(0)).toBe(true);
    await expectAllGivenBack();
  });

  // The last one of these: the pause that the provider asks for outlasts the test.
  test("while it waits out a pause of the provider", async () => {
    world.provider.script(openAiError(429, "slow down", null, { "retry-after-ms": "1500" }));
    expect((await ask().response).status).toBe(503);
    const { response, leave } = ask();
    await waitFor(() => health().waiting === 1, "it to wait");
    leave();
    await response;
    expect(world.provider.requests).toHaveLength(1);
    await expectAllGivenBack();
  });
});

describe("a key that leaves again and again", () => {
  const leaveOne = async (stream: boolean, on = caller) => {
    world.provider.script(silence());
    const { response, leave } = ask({ stream }, path, on);
    await world.provider.nextRequest();
    leave();
    expect((await response).status).not.toBe(429);
    await world.settled();
  };

  test("may leave as many streams as it likes, and answers that it waits for", async () => {
    const other = await world.creditCaller();
    for (let times = 0; times < 21; times += 1) await leaveOne(true, other);
    world.provider.script(openAiError(400, "answered"));
    for (let times = 0; times < 21; times += 1) {
      expect((await ask({}, path, other).response).status).toBe(400);
    }
  }, 120_000);
});
