import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { sse, text } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";

const model = (id: string, use: string, price: string) => `
[[models]]
id = "${id}"
serves = ["${use}"]
price = ${price}
deployments = [
  { provider = "openai", upstream_model = "audio-upstream", priority = 1 },
  { provider = "local", upstream_model = "other-upstream", priority = 2 },
]
`;

const tail = `
${model("say", "speech", "{ characters = 15.0 }")}
${model("say-tokens", "speech", "{ input = 1.0, audio_output = 12.0 }")}
${model("say-minutes", "speech", "{ speech_minutes = 0.015 }")}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const event = (value: JsonObject) => `data: ${JSON.stringify(value)}\n\n`;

describe("speech", () => {
  const path = "/v1/audio/speech";
  const say = (body: JsonObject, by = caller, headers = {}) =>
    world.ask(by, { path, body: { input: "né 😀", voice: "alloy", ...body }, headers });
  const sound = () => text("\u0001\u0002mp3", "audio/mpeg");

  test("is charged by the character, and passes as the sound it is", async () => {
    world.provider.script(sound());
    const response = await say({ model: "say" });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(await response.text()).toBe("\u0001\u0002mp3");
    expect(response.headers.get("x-sluice-cost")).toBe("0.00006");
    expect(response.headers.get("x-sluice-units")).toBe("characters=4");
    expect(await world.heldFor({ path, body: { model: "say", input: "né 😀", voice: "a" } })).toBeCloseTo(
      0.00006,
      9,
    );
  });

  test("leaves as it comes, says what it costs before, and is charged before its last bytes", async () => {
    const key = await world.creditCaller(1);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const steps = [{ write: "first" }, { until: released }, { write: "last" }];
    world.provider.script({ ...text("", "audio/mpeg"), framing: "chunked", steps });
    const response = await say({ model: "say" }, key);
    expect(response.headers.get("x-sluice-cost")).toBe("0.00006");
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toBe("firs");
    expect(world.gateway.accounts.openHolds).toBe(1);
    release();
    let rest = "";
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      rest += Buffer.from(next.value).toString();
      if (rest.endsWith("last")) {
        const entries = await world.running.store.listEntries({ afterId: 0, limit: 9, keyId: key.key.id });
        expect(entries.filter(({ kind }) => kind === "charge")).toHaveLength(1);
      }
    }
    expect(rest).toBe("tlast");
    expect(await world.chargesOf(key)).toEqual([
      { amount: -60_000, basis: "measured", outcome: "completed" },
    ]);
  });

  test("that breaks off, or is left, costs all characters, and its client is cut off", async () => {
    const broken = await world.creditCaller(1);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const steps = [{ write: "first" }, { until: released }, { reset: true } as const];
    world.provider.script({ ...text("", "audio/mpeg"), framing: "chunked", steps });
    const response = await say({ model: "say" }, broken);
    const reader = response.body?.getReader();
    await reader?.read();
    release();
    const readOn = async () => {
      while ((await reader?.read())?.done === false);
    };
    expect(await readOn().catch(() => "cut off")).toBe("cut off");
    expect(await world.chargesOf(broken)).toMatchObject([{ amount: -60_000, outcome: "failed" }]);

    const leaver = await world.creditCaller(1);
    const more = Promise.withResolvers<void>();
    const slow = [{ write: "first" }, { until: more.promise }, { write: "last" }];
    world.provider.script({ ...text("", "audio/mpeg"), framing: "chunked", steps: slow });
    const leaving = new AbortController();
    const left = await world.ask(leaver, {
      path,
      body: { model: "say", input: "né 😀", voice: "alloy" },
      signal: leaving.signal,
    });
    await left.body?.getReader().read();
    leaving.abort();
    more.resolve();
    expect(await world.chargesOf(leaver)).toMatchObject([{ amount: -60_000 }]);
    expect(world.provider.aborted).toHaveLength(0);
  });

  test("is the same sound when it is repeated", async () => {
    world.provider.script(sound());
    const headers = { "idempotency-key": "say" };
    await (await say({ model: "say" }, caller, headers)).text();
    const again = await say({ model: "say" }, caller, headers);
    expect(again.headers.get("content-type")).toBe("audio/mpeg");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  test("by the token is refused where nothing reports tokens, and charged where events do", async () => {
    const refused = await say({ model: "say-tokens" });
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain(
      "price.characters",
    );
    const key = await world.creditCaller(1);
    const stream =
      event({ type: "speech.audio.delta", audio: "AAAA" }) +
      event({ type: "speech.audio.done", usage: { input_tokens: 4, output_tokens: 10, total_tokens: 14 } });
    world.provider.script(sse(stream));
    const response = await say({ model: "say-tokens", stream_format: "sse" }, key);
    expect(await response.text()).toBe(stream);
    expect(await world.chargesOf(key)).toEqual([
      { amount: -124_000, basis: "measured", outcome: "completed" },
    ]);
  });

  test("by the token costs what it was held for where its figures are missing or none", async () => {
    const done = (usage: JsonObject) =>
      sse(
        event({ type: "speech.audio.delta", audio: "AA" }) + event({ type: "speech.audio.done", ...usage }),
      );
    const answers = [
      done({}),
      done({ usage: { input_tokens: 4, output_tokens: -1000 } }),
      done({ usage: { input_tokens: 4, output_tokens: 1e300 } }),
      sound(),
    ];
    for (const answer of answers) {
      const key = await world.creditCaller(1);
      world.provider.script(answer);
      await (await say({ model: "say-tokens", stream_format: "sse" }, key)).text();
      const [charge] = await world.chargesOf(key);
      expect(charge?.basis).toBe("estimated");
      // Four characters of four tokens each.
      expect(charge?.amount).toBeLessThanOrEqual(-16 * 12_000);
    }
  });

  test("that breaks off costs all characters, or the tokens of the sound that came", async () => {
    // Three seconds in 16,000 bytes each, as base64.
    const delta = event({ type: "speech.audio.delta", audio: "A".repeat(64_000) });
    const input = "word ".repeat(100);
    for (const [model, amount] of [
      ["say", -500 * 15_000],
      ["say-tokens", -63 * 12_000],
    ] as const) {
      const key = await world.creditCaller(1);
      world.provider.script(sse(delta));
      await (await say({ model, input, stream_format: "sse" }, key)).text();
      const [charge] = await world.chargesOf(key);
      expect(charge).toMatchObject({ outcome: "failed" });
      expect(charge?.amount).toBeWithin(amount - 400_000, amount + 1);
    }
  });

  test("that was asked for as events, and comes as sound, is charged", async () => {
    world.provider.script(sound());
    const response = await say({ model: "say", stream_format: "sse" });
    expect(response.headers.get("x-sluice-cost")).toBe("0.00006");
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
  });

  test("of a text that takes long to count is refused", async () => {
    const response = await say({ model: "say", input: "a".repeat(9_000_000) });
    expect(response.status).toBe(400);
    expect(world.provider.requests).toHaveLength(0);
  });

  test("by the minute is refused: nobody says how long it is", async () => {
    const response = await say({ model: "say-minutes" });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).toContain(
      "price.speech_minutes",
    );
    expect(world.provider.requests).toHaveLength(0);
  });
});
