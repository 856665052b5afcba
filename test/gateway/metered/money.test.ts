import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { type Answer, json, openAiError } from "../../support/answers.ts";
import { usageRecords } from "../../support/usage.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";
import { type MeteredCase, meteredCases, meteredModels } from "./routes.ts";

const takesIds = `
[[models]]
id = "ids"
provider = "openai"
upstream_model = "embedding-upstream"
serves = ["embeddings"]
price = { input = 1.0 }
`;

/** Charged in one way by the first deployment, and in another by the second. */
const inTwoWays = (id: string, use: string, first: string, second: string) => `
[[models]]
id = "two-${id}"
serves = ["${use}"]
deployments = [
  { provider = "openai", upstream_model = "first", priority = 1, price = ${first} },
  { provider = "local", upstream_model = "second", priority = 2, price = ${second} },
]
`;

const mixed = [
  inTwoWays("images", "images", "{ images = 0.04 }", "{ input = 5.0, image_output = 30.0 }"),
  inTwoWays(
    "sizes",
    "images",
    '{ images = { "high/1024x1024" = 0.2, "low/1024x1024" = 0.02 } }',
    "{ images = 0.01 }",
  ),
  inTwoWays(
    "transcriptions",
    "transcriptions",
    "{ audio_minutes = 0.006 }",
    "{ audio_input = 6.0, output = 10.0 }",
  ),
  inTwoWays("speech", "speech", "{ characters = 15.0 }", "{ audio_output = 12.0 }"),
  inTwoWays("rerank", "rerank", "{ search_units = 2.0 }", "{ input = 1.0 }"),
].join("");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: `${meteredModels()}\n${takesIds}\n${mixed}` });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const nano = (credits: number) => Math.round(credits * nanoPerCredit);

/** An answer that waits for a test to let it go on. */
function held(answer: Answer): { readonly answer: Answer; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { answer: { ...answer, before: [{ until: promise }] }, release: resolve };
}

describe.each(Object.entries(meteredCases))("%s", (name, route: MeteredCase) => {
  const ask = (by: Caller, headers = {}, model = `${name}-model`, signal?: AbortSignal) =>
    world.ask(by, {
      path: route.path,
      body: { model, ...route.body },
      headers,
      ...(signal === undefined ? {} : { signal }),
    });

  test("cost what their price says, and say so", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script(route.answer);
    const response = await ask(caller);
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("x-sluice-cost"))).toBe(route.cost);
    expect(response.headers.get("x-sluice-units")).toBe(route.units);
    expect(Number(response.headers.get("x-service-credit-remaining"))).toBeCloseTo(1 - route.cost, 9);
    expect(await world.chargesOf(caller)).toEqual([
      { amount: 0 - nano(route.cost), basis: "measured", outcome: "completed" },
    ]);
    const records = await usageRecords(world.running.store, { keyId: caller.key.id });
    expect(records).toMatchObject([{ route: route.path, model: `${name}-model`, provider: "openai" }]);
    expect(records[0]?.firstByteMs).toBeNumber();
  });

  test("bring no tools that the provider would run unpaid", async () => {
    const body = { model: `${name}-model`, ...route.body, tools: [{ type: "web_search" }] };
    const response = await world.ask(await world.creditCaller(1), { path: route.path, body });
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param: "tools[0]" } });
    expect(world.provider.requests).toHaveLength(0);
  });

  test("pass on the provider's bytes and time, and rename the model in the request", async () => {
    const took = { "openai-processing-ms": "93" };
    world.provider.script({ ...route.answer, headers: { ...route.answer.headers, ...took } });
    const response = await ask(await world.creditCaller(1));
    expect(response.headers.get("openai-processing-ms")).toBe("93");
    const [step] = route.answer.steps;
    expect(await response.text()).toBe(String(step !== undefined && "write" in step ? step.write : ""));
    expect(world.provider.requests[0]?.body).toMatchObject({ model: `first-${name}` });
  });

  test("are charged under the model's id where an alias was asked for", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script(route.answer);
    await (await ask(caller, {}, `${name}-alias`)).text();
    const [entry] = await world.running.store
      .listEntries({ afterId: 0, limit: 10, keyId: caller.key.id })
      .then((entries) => entries.filter(({ kind }) => kind === "charge"));
    expect(entry).toMatchObject({ model: `${name}-model`, requestedModel: `${name}-alias` });
  });

  test("are held for what they may cost at most, and refused without that", async () => {
    world.provider.script(route.answer);
    if (route.hold === 0) {
      expect((await ask(await world.creditCaller(0))).status).toBe(200);
      return;
    }
    const asking = { path: route.path, body: { model: `${name}-model`, ...route.body } };
    expect(await world.heldFor(asking)).toBeCloseTo(route.hold, 9);
    expect(world.provider.requests).toHaveLength(0);
    const caller = await world.creditCaller(route.hold);
    expect((await ask(caller)).status).toBe(200);
  });

  const leave = async (caller: Caller, headers: object) => {
    const { answer, release } = held(route.answer);
    world.provider.script(answer);
    const leaving = new AbortController();
    const asked = ask(caller, headers, undefined, leaving.signal).catch((error: unknown) => error);
    const request = await world.provider.nextRequest();
    leaving.abort();
    await asked;
    return { request, release };
  };

  if (route.isCancelled === true)
    test("that are generated end when the client leaves, and cost nothing", async () => {
      const caller = await world.creditCaller(1);
      const { request } = await leave(caller, {});
      await request.over;
      expect(request.abortedAtMs).not.toBeNull();
      expect(await world.chargesOf(caller)).toEqual([]);
    });
  else
    test("run to their end when the client leaves, are charged without a record, and are kept for its retry", async () => {
      const caller = await world.creditCaller(1);
      const headers = { "idempotency-key": "left" };
      const { request, release } = await leave(caller, headers);
      await waitFor(() => world.gateway.ongoing.size === 1, "the exchange to be under way");
      release();
      await request.over;
      expect(request.abortedAtMs).toBeNull();
      expect(await world.chargesOf(caller)).toEqual([
        { amount: 0 - nano(route.cost), basis: "measured", outcome: "cancelled" },
      ]);
      expect(await usageRecords(world.running.store, { keyId: caller.key.id })).toEqual([]);
      const again = await ask(caller, headers);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(await again.text()).not.toBe("");
      expect(world.provider.requests).toHaveLength(1);
    });

  test("whose client leaves as they come are charged if the provider bills them anyway, or a retry may find them", async () => {
    const ended = async (headers: object) => {
      const caller = await world.creditCaller(1);
      const { answer, release } = held(route.answer);
      world.provider.script(answer);
      const asked = ask(caller, headers);
      await world.provider.nextRequest();
      // One of an earlier test may still be ending.
      const exchange = [...world.gateway.ongoing.exchanges()].find(({ key }) => key?.id === caller.key.id);
      // As if the client disconnected right after the provider's last byte: the tick of a call that ends with its client, whenever
      // it comes, must not see it before.
      const get = () => exchange?.outlivesClient || exchange?.taken.answer !== null;
      Object.defineProperty(exchange, "hasClientDisconnected", { get });
      release();
      await (await asked).text();
      return { caller, charges: await world.chargesOf(caller) };
    };
    const charge = { amount: 0 - nano(route.cost), basis: "measured" } as const;
    const cancelled = { ...charge, outcome: "cancelled" } as const;
    expect((await ended({})).charges).toEqual(route.isCancelled === true ? [] : [cancelled]);
    const headers = { "idempotency-key": "late" };
    const { caller, charges } = await ended(headers);
    expect(charges).toEqual([route.isCancelled === true ? { ...charge, outcome: "completed" } : cancelled]);
    expect((await ask(caller, headers)).headers.get("idempotent-replayed")).toBe("true");
  });

  test("are free when they are repeated, byte by byte", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script(route.answer);
    const headers = { "idempotency-key": "again" };
    const first = await (await ask(caller, headers)).text();
    const second = await ask(caller, headers);
    expect(await second.text()).toBe(first);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(world.provider.requests).toHaveLength(1);
    expect((await world.chargesOf(caller)).length).toBeLessThanOrEqual(1);
    const other = await world.ask(caller, {
      path: route.path,
      body: { model: `${name}-model`, ...route.body, user: "another" },
      headers,
    });
    expect(other.status).toBe(409);
  });

  test("that race for one balance are never charged above it, nor is one key's request made twice", async () => {
    const caller = await world.creditCaller(1);
    const { answer, release } = held(route.answer);
    world.provider.script(answer);
    const headers = { "idempotency-key": "race" };
    const first = ask(caller, headers);
    await world.provider.nextRequest();
    expect((await ask(caller, headers)).status).toBe(409);
    release();
    expect((await first).status).toBe(200);
    expect(world.provider.requests).toHaveLength(1);
    if (route.hold === 0) return;
    const poor = await world.creditCaller(route.countedHold ?? route.hold);
    const other = held(route.answer);
    world.provider.script(other.answer);
    const winner = ask(poor);
    await world.provider.nextRequest();
    expect((await ask(poor)).status).toBe(429);
    other.release();
    expect((await winner).status).toBe(200);
  });

  test("fail over to the next deployment, which is charged alone", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script([openAiError(500, "down"), route.answer]);
    const response = await ask(caller);
    expect(response.status).toBe(200);
    expect(world.provider.requests.map(({ path }) => path.split("/")[1])).toEqual(["openai", "local"]);
    expect(await world.chargesOf(caller)).toHaveLength(1);
    expect(world.observed.at(-1)).toMatchObject({ provider: "local", attempts: 2 });
  });

  test("of a provider that fails cost nothing", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script(openAiError(500, "down"));
    expect((await ask(caller)).status).toBe(502);
    expect(await world.chargesOf(caller)).toEqual([]);
    expect(world.gateway.accounts.openHolds).toBe(0);
  });

  test("take tokens from a budget, or are refused to it", async () => {
    const caller = await world.tokenCaller(1000);
    world.provider.script(route.answer);
    const response = await ask(caller);
    expect(response.status).toBe(route.tokens === null ? 400 : 200);
    if (route.tokens !== null) expect(response.headers.get("x-sluice-cost")).toBe(String(route.tokens));
    else expect(world.provider.requests).toHaveLength(0);
  });
});

test("figures that cannot be are not believed, and ids of tokens without figures cost their number", async () => {
  const ids = [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]];
  const vectors = { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.1] }] };
  const choices = [{ index: 0, text: "go", finish_reason: "stop" }];
  for (const [path, body, answer, amount] of [
    ["/v1/embeddings", { model: "ids", input: ids }, vectors, -10_000],
    [
      "/v1/embeddings",
      { model: "ids", input: ids },
      { ...vectors, usage: { prompt_tokens: 1e300 } },
      -10_000,
    ],
    ["/v1/embeddings", { model: "ids", input: ids }, { ...vectors, usage: { prompt_tokens: -1 } }, -10_000],
    ["/v1/completions", { model: "completions-model", prompt: ids }, { id: "1", choices }, -12_000],
  ] as const) {
    const caller = await world.creditCaller(1);
    world.provider.script(json(structuredClone(answer) as JsonObject));
    expect((await world.ask(caller, { path, body })).status).toBe(200);
    expect(await world.chargesOf(caller)).toEqual([{ amount, basis: "estimated", outcome: "completed" }]);
  }
});

describe("a model whose deployments are charged in two ways", () => {
  const sound = { input_audio: { data: "A".repeat(32_000) } };
  const image = { prompt: "a lock" };
  const large = { quality: "high", size: "1024x1024" };
  const ranking = { query: "best?", documents: ["a", "b"] };

  test.each([
    [
      "images",
      "/v1/images/generations",
      image,
      { data: [{ url: "a" }], usage: { input_tokens: 10, output_tokens: 1000 } },
      30_050_000,
    ],
    // What is no image has no price of its own, and costs as much.
    [
      "images",
      "/v1/images/generations",
      image,
      {
        data: [{ url: "a" }],
        usage: {
          input_tokens: 10,
          output_tokens: 1000,
          output_tokens_details: { image_tokens: 400, text_tokens: 600 },
        },
      },
      30_050_000,
    ],
    // Six thousand two hundred and forty tokens are held for, and three of the prompt.
    ["images", "/v1/images/generations", image, { data: [{ url: "a" }] }, 187_215_000],
    ["sizes", "/v1/images/generations", { ...image, ...large }, { data: [{ url: "a" }] }, 10_000_000],
    [
      "transcriptions",
      "/v1/audio/transcriptions",
      sound,
      {
        text: "hi",
        usage: { input_tokens: 1000, output_tokens: 10, input_token_details: { audio_tokens: 1000 } },
      },
      6_100_000,
    ],
    // 24 seconds at the lowest rate, and one word.
    ["transcriptions", "/v1/audio/transcriptions", sound, { text: "hi" }, 4_618_000],
    ["rerank", "/v1/rerank", ranking, { results: [], usage: { total_tokens: 50 } }, 50_000],
    ["rerank", "/v1/rerank", ranking, { results: [] }, 6000],
  ] as const)(
    "costs what the one that answered for %s is charged by",
    async (id, path, body, answer, amount) => {
      const caller = await world.creditCaller(1);
      world.provider.script([openAiError(500, "down"), json(structuredClone(answer) as JsonObject)]);
      const response = await world.ask(caller, { path, body: { model: `two-${id}`, ...body } });
      expect(response.status).toBe(200);
      expect(await world.chargesOf(caller)).toMatchObject([{ amount: 0 - amount }]);
    },
  );

  test("is held for at the highest of them", async () => {
    const held = (id: string, path: string, body: JsonObject) =>
      world.heldFor({ path, body: { model: `two-${id}`, ...body } });
    expect(await held("images", "/v1/images/generations", image)).toBeGreaterThan(0.1872);
    expect(await held("sizes", "/v1/images/generations", { ...image, ...large })).toBeGreaterThanOrEqual(0.2);
    expect(await held("transcriptions", "/v1/audio/transcriptions", sound)).toBeGreaterThan(0.002);
  });

  test("is refused what one of them could not charge for, by name", async () => {
    const caller = await world.creditCaller(1);
    for (const [id, path, body, param] of [
      ["speech", "/v1/audio/speech", { input: "hello", voice: "alloy" }, "stream_format"],
      ["sizes", "/v1/images/generations", { ...image, quality: "medium" }, "size"],
    ] as const) {
      const response = await world.ask(caller, { path, body: { model: `two-${id}`, ...body } });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param } });
    }
    expect(world.provider.requests).toHaveLength(0);
  });

  test("takes no tokens from a budget unless all of them are charged so", async () => {
    const caller = await world.tokenCaller(100_000);
    const response = await world.ask(caller, {
      path: "/v1/rerank",
      body: { model: "two-rerank", ...ranking },
    });
    expect(response.status).toBe(400);
  });
});
