import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { explainCharge } from "../../../src/admin/requests/explain-charge.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { json, openAiError, sse, text } from "../../support/answers.ts";
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
${model("hear", "transcriptions", "{ audio_minutes = 0.006 }")}
${model("hear-tokens", "transcriptions", "{ input = 1.0, audio_input = 6.0, output = 10.0 }")}
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

/** So many seconds of silence, in 8,000 bytes each, with a header that may lie. */
function wav(seconds: number, { byteRate = 8000, size = seconds * 8000, format = 1 } = {}): Uint8Array {
  const data = Buffer.alloc(seconds * 8000);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(byteRate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(size, 40);
  return Buffer.concat([head, data]);
}

/** Ten seconds, if they are plain: the format is named at the end of a longer header. */
function extensible(inside: number): Uint8Array {
  const plain = Buffer.from(wav(10, { format: 0xfffe }));
  plain.writeUInt32LE(40, 16);
  const more = Buffer.alloc(24);
  more.writeUInt16LE(22, 0);
  more.writeUInt16LE(inside, 8);
  return Buffer.concat([plain.subarray(0, 36), more, plain.subarray(36)]);
}

function soundFile(name: string): Uint8Array {
  return readFileSync(new URL(`../../support/fixtures/sound/${name}`, import.meta.url));
}

interface Heard {
  readonly fields?: Readonly<Record<string, string>>;
  readonly file?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly by?: Caller;
  readonly path?: string;
}

function hear({
  fields = {},
  file = wav(10),
  headers = {},
  by = caller,
  path = "/v1/audio/transcriptions",
}: Heard) {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(file)], "talk.wav", { type: "audio/wav" }));
  for (const [name, value] of Object.entries({ model: "hear", ...fields })) form.set(name, value);
  return fetch(`${world.running.url}${by.key.mode === "credit" ? "" : "/token"}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${by.secret}`, ...headers },
    body: form,
  });
}

async function sentForm(place: number) {
  const seen = world.provider.requests.at(place);
  return await new Response(seen?.bytes, {
    headers: { "content-type": seen?.headers["content-type"] ?? "" },
  }).formData();
}

describe("transcriptions", () => {
  test("are charged by the provider's seconds, to the nano-credit", async () => {
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    const response = await hear({});
    expect(await response.json()).toMatchObject({ text: "hello" });
    // A sixth of 0.006, which no decimal fraction of a minute gives exactly.
    expect(response.headers.get("x-sluice-cost")).toBe("0.001");
    expect(response.headers.get("x-sluice-units")).toBe("minutes=0.166667");
    world.provider.script(json({ text: "hello", duration: "81.0" }));
    const verbose = await hear({ fields: { response_format: "verbose_json" }, file: wav(81) });
    expect(verbose.headers.get("x-sluice-cost")).toBe("0.0081");
    expect(verbose.headers.get("x-sluice-units")).toBe("minutes=1.35");
  });

  test("pass the file as it is, under the provider's name for the model, wherever that stood in the form", async () => {
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    await hear({ fields: { language: "de", "include[]": "logprobs" } });
    const sent = await sentForm(-1);
    expect(sent.get("model")).toBe("audio-upstream");
    expect(sent.get("language")).toBe("de");
    expect(sent.get("include[]")).toBe("logprobs");
    const file = sent.get("file") as File;
    expect(file.name).toBe("talk.wav");
    expect(Buffer.from(await file.arrayBuffer()).equals(wav(10))).toBe(true);
  });

  test("fail over with the whole form", async () => {
    world.provider.script([
      openAiError(500, "down"),
      json({ text: "hi", usage: { type: "duration", seconds: 6 } }),
    ]);
    const response = await hear({});
    expect(response.headers.get("x-sluice-cost")).toBe("0.0006");
    expect((await sentForm(-1)).get("model")).toBe("other-upstream");
    expect((await sentForm(-1)).get("file")).toBeInstanceOf(File);
  });

  test("are held for what a WAV plays, and for the lowest rate of other files", async () => {
    const poor = await world.creditCaller(0.000999);
    expect((await hear({ by: poor })).status).toBe(402);
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    expect((await hear({ by: await world.creditCaller(0.001) })).status).toBe(200);
    const mp3 = new Uint8Array(120_000);
    expect((await hear({ by: await world.creditCaller(0.0119), file: mp3 })).status).toBe(402);
    expect((await hear({ by: await world.creditCaller(0.012), file: mp3 })).status).toBe(200);
  });

  test("without figures are refused by name, unless the file tells its length", async () => {
    const mp3 = new Uint8Array(1000);
    for (const [fields, file, name] of [
      [{ response_format: "srt", model: "hear-tokens" }, mp3, "price.audio_input"],
      [{ response_format: "vtt", model: "hear-tokens" }, wav(1), "price.audio_input"],
    ] as const) {
      const response = await hear({ fields, file });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      expect(error.param).toBe("response_format");
      expect(error.message).toContain(name);
    }
    expect(world.provider.requests).toHaveLength(0);
    world.provider.script(text("1\n00:00 hello", "text/plain"));
    const response = await hear({ fields: { response_format: "srt" }, file: wav(10) });
    expect(response.headers.get("x-sluice-cost")).toBe("0.001");
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(await response.text()).toBe("1\n00:00 hello");
  });

  test("cost what the file plays, whatever its header says beside that", async () => {
    const srt = { response_format: "srt" };
    const twice = Buffer.concat([wav(1), wav(9).subarray(36)]);
    const noted = Buffer.concat([wav(10), Buffer.from("LIST\u0004\0\0\0note")]);
    const lies = [wav(10, { byteRate: 0xffffffff }), wav(10, { size: 0 }), wav(10, { size: 8 })];
    for (const file of [...lies, noted]) {
      world.provider.script(text("1\n00:00 hello"));
      const response = await hear({ fields: srt, file });
      expect(response.headers.get("x-sluice-cost")).toBe("0.001");
    }
    world.provider.script(text("1\n00:00 hello"));
    const long = await hear({ fields: srt, file: twice });
    expect(Number(long.headers.get("x-sluice-cost"))).toBeGreaterThanOrEqual(0.001);
    for (const [file, seconds] of [
      [extensible(1), 10],
      // Compressed, at the lowest rate.
      [extensible(0x55), 80_068 / 500],
      [wav(10, { format: 2 }), 80_044 / 500],
    ] as const) {
      world.provider.script(text("1\n00:00 hello"));
      const cost = (await hear({ fields: srt, file })).headers.get("x-sluice-cost");
      expect(Number(cost)).toBeCloseTo((seconds / 60) * 0.006, 8);
    }
  });

  test.each(["srt", "vtt", "text"])(
    "as %s are held for and charged by the file, of any kind, as an estimate",
    async (response_format) => {
      for (const [file, seconds] of [
        [soundFile("vbr.mp3"), 5.1],
        [soundFile("opus.ogg"), 5],
        [soundFile("tables-last.m4a"), 5],
        [soundFile("recorded.webm"), 5],
        [soundFile("plain.flac"), 5],
        [new Uint8Array(5000), 5],
      ] as const) {
        const cost = (seconds / 60) * 0.006;
        const fields = { response_format };
        expect((await hear({ fields, file, by: await world.creditCaller(cost * 0.99) })).status).toBe(402);
        const key = await world.creditCaller(cost * 1.03);
        world.provider.script(text("1\n00:00 hello", "text/plain"));
        const response = await hear({ fields, file, by: key });
        expect(response.status).toBe(200);
        expect(Number(response.headers.get("x-sluice-cost"))).toBeWithin(cost * 0.999, cost * 1.03);
        expect(await world.chargesOf(key)).toMatchObject([{ basis: "estimated", outcome: "completed" }]);
      }
    },
  );

  test.each<[Uint8Array, number, number, "measured" | "estimated"]>([
    // What a WAV plays, rounded up.
    [wav(10), 10, 10, "measured"],
    [wav(10), 11, 10, "estimated"],
    [wav(10), 3600, 10, "estimated"],
    // At most the length at the lowest rate.
    [new Uint8Array(120_000), 120, 120, "measured"],
    [new Uint8Array(120_000), 121, 120, "estimated"],
    [soundFile("opus.ogg"), 8, 8, "measured"],
    [soundFile("opus.ogg"), 3600, 8, "estimated"],
  ])(
    "report a length that is believed up to what the file can be (%#)",
    async (file, told, seconds, basis) => {
      for (const answer of [{ duration: String(told) }, { usage: { type: "duration", seconds: told } }]) {
        const key = await world.creditCaller(1);
        world.provider.script(json({ text: "hello", ...structuredClone(answer) }));
        expect((await hear({ file, by: key })).status).toBe(200);
        const amount = -Math.round((seconds / 60) * 6_000_000);
        expect(await world.chargesOf(key)).toEqual([{ amount, basis, outcome: "completed" }]);
      }
    },
  );

  test("without figures cost what sound of that size has, in a form and in JSON", async () => {
    const file = new Uint8Array(960_000);
    const body = { input_audio: { data: "A".repeat(1_280_000), format: "mp3" } };
    for (const [model, cost] of [
      ["hear", 0.096],
      ["hear-tokens", 0.18432],
    ] as const) {
      world.provider.script(json({ text: "hello" }));
      const asked = { path: "/v1/audio/transcriptions", body: { model, ...body } };
      for (const response of [await hear({ fields: { model }, file }), await world.ask(caller, asked)]) {
        expect(Number(response.headers.get("x-sluice-cost"))).toBeCloseTo(cost, 4);
      }
    }
  });

  test("without figures cost the whole of a file that is larger than OpenAI takes", async () => {
    world.provider.script(json({ text: "hello" }));
    const response = await hear({ file: new Uint8Array(48_000_000) });
    expect(Number(response.headers.get("x-sluice-cost"))).toBeCloseTo(
      ((25 * 2 ** 20) / 1000 / 60) * 0.006,
      6,
    );
  });

  test("by the token are charged sound and text each at its rate", async () => {
    const usage = {
      type: "tokens",
      input_tokens: 14,
      input_token_details: { audio_tokens: 10, text_tokens: 4 },
      output_tokens: 5,
    };
    world.provider.script(json({ text: "hello", usage }));
    const response = await hear({ fields: { model: "hear-tokens" } });
    // 4 × 1 + 10 × 6 + 5 × 10, in millionths.
    expect(response.headers.get("x-sluice-cost")).toBe("0.000114");
    const budget = await hear({ fields: { model: "hear-tokens" }, by: await world.tokenCaller(10_000) });
    expect(budget.headers.get("x-sluice-cost")).toBe("19");
    expect((await hear({ by: await world.tokenCaller(10_000) })).status).toBe(400);
  });

  test.each([
    // Ten tokens without a breakdown all count as audio.
    ["nothing", {}, -110_000],
    ["text", { input_token_details: { text_tokens: 4 } }, -90_000],
  ])("are streamed as they come, and %s of their input is told apart", async (_, details, amount) => {
    const key = await world.creditCaller(1);
    const usage = { type: "tokens", input_tokens: 10, output_tokens: 5, ...details };
    const stream =
      event({ type: "transcript.text.delta", delta: "hel" }) +
      event({ type: "transcript.text.done", text: "hello", usage });
    world.provider.script(sse(stream));
    const response = await hear({ fields: { model: "hear-tokens", stream: "true" }, by: key });
    expect(await response.text()).toBe(stream);
    expect(await world.chargesOf(key)).toEqual([{ amount, basis: "measured", outcome: "completed" }]);
  });

  test("that break off cost the whole sound, and what was written", async () => {
    for (const [model, amount] of [
      // Ten seconds at 0.006 a minute; or 320 tokens at 6, and one that was written at 10.
      ["hear", -1_000_000],
      ["hear-tokens", -1_930_000],
    ] as const) {
      const key = await world.creditCaller(1);
      const delta = event({ type: "transcript.text.delta", delta: "hello" });
      world.provider.script(sse(delta));
      await (await hear({ fields: { model, stream: "true" }, by: key })).text();
      expect(await world.chargesOf(key)).toMatchObject([{ amount, outcome: "failed" }]);
    }
  });

  test("are the same request if their parts are, whatever the boundary", async () => {
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    const headers = { "idempotency-key": "hear" };
    await (await hear({ headers })).text();
    const again = await hear({ headers });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await hear({ headers, file: wav(11) })).status).toBe(409);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("come as JSON from some clients", async () => {
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    const body = { model: "hear", input_audio: { data: "A".repeat(16_000), format: "wav" } };
    const response = await world.ask(caller, { path: "/v1/audio/transcriptions", body });
    expect(response.headers.get("x-sluice-cost")).toBe("0.001");
    expect(world.provider.requests[0]?.body).toMatchObject({ model: "audio-upstream" });
  });

  test("need a file, and forms that end", async () => {
    expect(
      (await world.ask(caller, { path: "/v1/audio/transcriptions", body: { model: "hear" } })).status,
    ).toBe(400);
    const cut = await fetch(`${world.running.url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${caller.secret}`,
        "content-type": "multipart/form-data; boundary=b",
      },
      body: '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nhear',
    });
    expect(cut.status).toBe(400);
    expect(world.provider.requests).toHaveLength(0);
  });

  test.each(["TRUE", "on", "yes"])("are streamed or not, which %s does not tell", async (stream) => {
    const response = await hear({ fields: { stream } });
    const { error } = (await response.json()) as { error: { param: string } };
    expect([response.status, error.param]).toEqual([400, "stream"]);
    expect(world.provider.requests).toHaveLength(0);
  });

  test("have a sister that writes English", async () => {
    world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 10 } }));
    const response = await hear({ path: "/v1/audio/translations" });
    expect(response.headers.get("x-sluice-cost")).toBe("0.001");
    expect(world.provider.requests[0]?.path).toBe("/openai/v1/audio/translations");
  });
});

test("what was charged beside tokens is in the record, and its sum is explained", async () => {
  const key = await world.creditCaller(1);
  world.provider.script(json({ text: "hello", usage: { type: "duration", seconds: 81 } }));
  await (await hear({ by: key, file: wav(81) })).text();
  const entries = await world.running.store.listEntries({ afterId: 0, limit: 10, keyId: key.key.id });
  const charge = entries.find(({ kind }) => kind === "charge");
  expect(charge === undefined ? null : explainCharge(charge, true)).toMatchObject({
    units: { kind: "minutes", amount: 1.35 },
    calculation: "1.35 audio_minutes × 0.006/1 = 0.0081",
  });
});
