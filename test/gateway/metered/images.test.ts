import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { json, sse } from "../../support/answers.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";

const model = (id: string, price: string, more = "") => `
[[models]]
id = "${id}"
provider = "openai"
upstream_model = "image-upstream"
serves = ["images"]
price = ${price}
${more}
`;

const tail = `
${model("each", "{ images = 0.04 }")}
${model("by-size", '{ images = { "high/1024x1024" = 0.167, "*" = 0.04 } }')}
${model("only-high", '{ images = { "high/1024x1024" = 0.167 } }')}
${model("half-priced", "{ input = 5.0, image_input = 8.0 }")}
${model("tokens", "{ input = 5.0, image_input = 8.0, image_output = 30.0 }", "image_tokens_max = 1000")}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const path = "/v1/images/generations";
const draw = (body: JsonObject, by = caller) =>
  world.ask(by, { path, body: { prompt: "a lock on a canal", ...body } });

const images = (count: number, bytes = 8) =>
  Array.from({ length: count }, () => ({ b64_json: "A".repeat(bytes) }));
const usage = {
  input_tokens: 30,
  input_tokens_details: { text_tokens: 10, image_tokens: 20 },
  output_tokens: 500,
  total_tokens: 530,
};

describe("by the image", () => {
  test("those are charged that came, of megabytes too", async () => {
    for (const bytes of [8, 3_000_000]) {
      world.provider.script(json({ created: 1, data: images(2, bytes) }));
      const response = await draw({ model: "each", n: 2 });
      expect(response.status).toBe(200);
      expect(response.headers.get("x-sluice-cost")).toBe("0.08");
      expect(response.headers.get("x-sluice-units")).toBe("images=2");
      expect(((await response.json()) as { data: object[] }).data).toHaveLength(2);
    }
  });

  test.each<[string, JsonObject[], number]>([
    ["of two forms", [{ b64_json: "A" }, { url: "https://a" }, { url: "https://b" }], 2],
    ["of another form", [{ image: "A" }, { image: "B" }, { image: "C" }], 3],
    ["of none", [], 0],
  ])("large answers with images %s are charged", async (_, data, count) => {
    world.provider.script(json({ created: 1, data, note: "n".repeat(40_000) }));
    const response = await draw({ model: "each", n: 3 });
    expect(response.headers.get("x-sluice-cost")).toBe(String(count * 0.04));
  });

  test("all are charged that a stream brings, each with its own figures", async () => {
    const event = (more: JsonObject) =>
      `data: ${JSON.stringify({ type: "image_generation.completed", b64_json: "AAAA", ...more })}\n\n`;
    for (const [model, asked, more, came, amount] of [
      ["each", { n: 3 }, {}, 3, -120_000_000],
      ["each", { n: 3 }, {}, 2, -80_000_000],
      ["each", { batch_size: 3 }, {}, 3, -120_000_000],
      ["tokens", { n: 3 }, { usage }, 3, -3 * 15_210_000],
    ] as const) {
      const key = await world.creditCaller(1);
      const stream = event(more).repeat(came);
      world.provider.script(sse(stream));
      expect(await (await draw({ model, ...asked, stream: true }, key)).text()).toBe(stream);
      expect(await world.chargesOf(key)).toEqual([{ amount, basis: "measured", outcome: "completed" }]);
    }
  });

  test("the hold is for as many as were asked for", async () => {
    expect(await world.heldFor({ path, body: { model: "each", prompt: "x", n: 3 } })).toBeCloseTo(0.12, 9);
  });

  test.each<[JsonObject, number]>([
    [{ batch_size: 4 }, 4],
    [{ n: 2, num_images: 3 }, 3],
    [{ num_images: "3" }, 3],
    [{ sequential_image_generation: "auto" }, 15],
    [{ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 4 } }, 4],
    [{ sequential_image_generation: "disabled", batch_size: null }, 1],
  ])("the hold is for as many as other names ask for: %j", async (names, count) => {
    const held = await world.heldFor({ path, body: { model: "each", prompt: "x", ...names } });
    expect(held).toBeCloseTo(count * 0.04, 9);
  });

  test.each(["many", "3e1", 0, 2.5, true, 101])("a number that is none is refused: %j", async (value) => {
    const response = await draw({ model: "each", batch_size: value });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { param: string } }).error.param).toBe("batch_size");
    expect(world.provider.requests).toHaveLength(0);
  });

  test("a quality and size may have a price of its own", async () => {
    world.provider.script(json({ created: 1, data: images(1) }));
    const high = await draw({ model: "by-size", quality: "high", size: "1024x1024" });
    expect(high.headers.get("x-sluice-cost")).toBe("0.167");
    expect(high.headers.get("x-sluice-units")).toBe("images=1");
    const low = await draw({ model: "by-size", quality: "low", size: "1024x1024" });
    expect(low.headers.get("x-sluice-cost")).toBe("0.04");
  });

  test.each([
    ["HIGH", "1024x1024"],
    [" high", "1024X1024 "],
    ["High", "1024x1024"],
  ])(
    "a quality and size that a lenient provider would read is charged as that: %j %j",
    async (quality, size) => {
      world.provider.script(json({ created: 1, data: images(1) }));
      const body = { model: "by-size", quality, size };
      expect((await draw(body)).headers.get("x-sluice-cost")).toBe("0.167");
      expect(world.provider.requests.at(-1)?.body).toMatchObject({ quality, size });
      expect(await world.heldFor({ path, body: { ...body, prompt: "x" } })).toBeCloseTo(0.167, 9);
    },
  );

  test.each([
    ["ultra", "1024x1024", "quality"],
    ["hi\u200bgh", "1024x1024", "quality"],
    ["", "1024x1024", "quality"],
    ["high", "square", "size"],
    ["high", "1024\u00d71024", "size"],
    ["high", "01024x1024", "size"],
    ["high", "1024 x 1024", "size"],
  ])(
    "a word that is not known is refused where the price depends on it: %j %j",
    async (quality, size, param) => {
      const response = await draw({ model: "by-size", quality, size });
      expect(response.status).toBe(400);
      expect(((await response.json()) as { error: { param: string } }).error.param).toBe(param);
      expect(world.provider.requests).toHaveLength(0);
      world.provider.script(json({ created: 1, data: images(1) }));
      expect((await draw({ model: "each", quality, size })).headers.get("x-sluice-cost")).toBe("0.04");
    },
  );

  test.each([
    '"quality":"high","quality":"low"',
    '"size":"1024x1024","size":"512x512"',
    '"quality":"low","Quality":"high"',
    '"SIZE":"1024x1024"',
    '"n":1,"extra_body":{"quality":"high"}',
    '"extra_body":{"size":"1024x1024"}',
    '"partial_images":0,"Partial_Images":3',
    '"SVG":{"model":"another"}',
    '"quality":"low","quality[]":"high"',
    '"size[0]":"1024x1024"',
    '"Resolution":"4k"',
    '"extra_body":{"image_size":"4096x4096"}',
    '"extra_body":"{\\"quality\\":\\"high\\"}"',
    '"extra_body":"quality=high&size=1024x1024"',
    '"extra_body":["quality=high"]',
    '"svg":"{\\"model\\":\\"another\\"}"',
    '"svg":{"model":"another"}',
  ])("what providers might read otherwise is refused: %s", async (fields) => {
    const headers = { authorization: `Bearer ${caller.secret}`, "content-type": "application/json" };
    const body = `{"model":"by-size","prompt":"x",${fields}}`;
    const response = await fetch(`${world.running.url}${path}`, { method: "POST", headers, body });
    expect(response.status).toBe(400);
    expect(world.provider.requests).toHaveLength(0);
  });

  test.each<[string, Json]>([
    ["resolution", "4k"],
    ["image_size", "4096x4096"],
    ["image_config", { image_size: "4K" }],
    ["aspect_ratio", "16:9"],
    ["width", 4096],
    ["height", 4096],
  ])("a size under another name is refused where the price depends on it: %s", async (name, value) => {
    for (const body of [{ quality: "high", size: "1024x1024" }, {}]) {
      for (const model of ["by-size", "only-high"]) {
        const response = await draw({ model, ...body, [name]: value });
        expect(response.status).toBe(400);
        expect(((await response.json()) as { error: { param: string } }).error.param).toBe(name);
      }
    }
    expect(world.provider.requests).toHaveLength(0);
    world.provider.script(json({ created: 1, data: images(1) }));
    expect((await draw({ model: "each", [name]: value })).headers.get("x-sluice-cost")).toBe("0.04");
    expect(world.provider.requests.at(-1)?.body).toMatchObject({ [name]: value });
  });

  test("one without a price is refused by its name", async () => {
    const response = await draw({ model: "only-high", quality: "low", size: "512x512" });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain('`price.images."low/512x512"`');
    expect(world.provider.requests).toHaveLength(0);
  });

  test("a budget of tokens cannot pay for it", async () => {
    expect((await draw({ model: "each" }, await world.tokenCaller(1_000_000))).status).toBe(400);
  });
});

describe("by the token", () => {
  test("text, images in and images out are charged each at its rate", async () => {
    world.provider.script(json({ created: 1, data: images(1), usage }));
    const response = await draw({ model: "tokens" });
    // 10 × 5 + 20 × 8 + 500 × 30, in millionths.
    expect(response.headers.get("x-sluice-cost")).toBe("0.01521");
  });

  test("input of which nobody says what it is costs as much as images, where some were sent", async () => {
    world.provider.script(
      json({ created: 1, data: images(1), usage: { input_tokens: 30, output_tokens: 500 } }),
    );
    const sent = { images: [{ image_url: "https://example.com/a.png" }] };
    for (const [route, more, cost] of [
      // 30 × 5 or 8, and 500 × 30.
      ["generations", {}, "0.01515"],
      ["edits", sent, "0.01524"],
    ] as const) {
      const body = { model: "tokens", prompt: "x", ...structuredClone(more) };
      const response = await world.ask(caller, { path: `/v1/images/${route}`, body });
      expect(response.headers.get("x-sluice-cost")).toBe(cost);
    }
  });

  test("input that is told to be text is no images", async () => {
    const told = { input_tokens: 30, output_tokens: 500, input_tokens_details: { text_tokens: 20 } };
    world.provider.script(json({ created: 1, data: images(1), usage: told }));
    const body = { model: "tokens", prompt: "x", images: [{ image_url: "https://example.com/a.png" }] };
    const response = await world.ask(caller, { path: "/v1/images/edits", body });
    // 20 × 5, 10 × 8 and 500 × 30.
    expect(response.headers.get("x-sluice-cost")).toBe("0.01518");
  });

  test("the hold is for the most that each image may take", async () => {
    const held = await world.heldFor({
      path,
      body: { model: "tokens", prompt: "x", n: 2, partial_images: 1 },
    });
    expect(held).toBeWithin(0.066, 0.068);
  });

  test("the hold has the images that are sent, however they are sent", async () => {
    const edits = "/v1/images/edits";
    const heldFor = (body: JsonObject) =>
      world.heldFor({ path: edits, body: { model: "tokens", prompt: "x", ...body } });
    const address = "https://example.com/a.png";
    const data = `data:image/png;base64,${"A".repeat(2_000_000)}`;
    const perImage = (4800 * 8) / 1e6;
    const none = await heldFor({});
    for (const [count, body] of [
      [2, { images: [{ image_url: address }, { image_url: address }] }],
      [2, { images: [{ image_url: address }], mask: { image_url: address } }],
      [1, { images: [{ image_url: data }] }],
      [1, { image: address }],
    ] as const) {
      const held = (await heldFor(structuredClone(body) as JsonObject)) - none;
      expect(held).toBeWithin(count * perImage - 1e-6, count * perImage + 1e-3);
    }
  });

  test("what reports nothing costs what it was held for, as an estimate", async () => {
    const key = await world.creditCaller(1);
    world.provider.script(json({ created: 1, data: images(1) }));
    const held = await world.heldFor({ path, body: { prompt: "a lock on a canal", model: "tokens" } });
    const response = await draw({ model: "tokens" }, key);
    expect(Number(response.headers.get("x-sluice-cost"))).toBeCloseTo(held, 3);
    expect(await world.chargesOf(key)).toMatchObject([{ basis: "estimated" }]);
  });

  test("of a series that reports nothing, those are charged that came", async () => {
    const series = { model: "tokens", sequential_image_generation: "auto" };
    const costs = [];
    for (const count of [1, 15, 16]) {
      world.provider.script(json({ created: 1, data: images(count) }));
      costs.push(Number((await draw(series)).headers.get("x-sluice-cost")));
    }
    // The hold is for 15.
    expect(costs).toEqual([0.030035, 0.450035, 0.450035]);
  });

  test("so do images that were sent", async () => {
    const body = { model: "tokens", prompt: "x", images: [{ image_url: "https://example.com/a.png" }] };
    const edit = { path: "/v1/images/edits", body };
    const held = await world.heldFor(structuredClone(edit));
    world.provider.script(json({ created: 1, data: images(1) }));
    const response = await world.ask(caller, edit);
    expect(Number(response.headers.get("x-sluice-cost"))).toBeCloseTo(held, 3);
  });
});

const event = (value: JsonObject) => `event: ${value["type"]}\ndata: ${JSON.stringify(value)}\n\n`;

test.each([
  ["generations", "image_generation"],
  ["edits", "image_edit"],
])("a stream of %s passes as it is, and is charged before its last image leaves", async (route, type) => {
  const key = await world.creditCaller(1);
  const stream =
    event({ type: `${type}.partial_image`, b64_json: "AAAA", partial_image_index: 0 }) +
    event({ type: `${type}.completed`, b64_json: "BBBB", usage });
  world.provider.script(sse(stream));
  const images = [{ image_url: "https://example.com/a.png" }];
  const body = { model: "tokens", prompt: "x", images, stream: true, partial_images: 1 };
  const response = await world.ask(key, { path: `/v1/images/${route}`, body });
  expect(await response.text()).toBe(stream);
  expect(world.provider.requests.at(-1)?.body).toMatchObject({ stream: true, partial_images: 1 });
  // Only texts have an option that asks for usage.
  expect(world.provider.requests.at(-1)?.body).not.toHaveProperty("stream_options");
  expect(await world.chargesOf(key)).toEqual([
    { amount: -15_210_000, basis: "measured", outcome: "completed" },
  ]);
});

test("a stream that the client leaves runs to its end, since the provider bills all of it", async () => {
  const key = await world.creditCaller(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = event({ type: "image_generation.partial_image", b64_json: "AAAA" });
  const last = event({ type: "image_generation.completed", b64_json: "BBBB", usage });
  world.provider.script({ ...sse(""), steps: [{ write: first }, { until: promise }, { write: last }] });
  const leaving = new AbortController();
  const response = await world.ask(key, {
    path,
    body: { model: "tokens", prompt: "x", stream: true },
    signal: leaving.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  await reader?.cancel().catch(() => {});
  const underWay = () => [...world.gateway.ongoing.exchanges()];
  await waitFor(
    () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
    "the client to have left",
  );
  resolve();
  expect(await world.chargesOf(key)).toEqual([
    { amount: -15_210_000, basis: "measured", outcome: "cancelled" },
  ]);
});

describe("a stream that breaks off", () => {
  const partial = event({ type: "image_generation.partial_image", b64_json: "AAAA" });
  const completed = event({ type: "image_generation.completed", b64_json: "BBBB", usage });
  const endings = [
    ["by a reset", { reset: true }],
    ["by an error in band", { write: event({ type: "error", error: { message: "out of paint" } }) }],
    ["by ending", { write: "" }],
  ] as const;

  test.each(endings)("%s costs the images that were asked for, as an estimate", async (_, ending) => {
    for (const [model, amount] of [
      ["each", -80_000_000],
      // 1,000 tokens of each image at 30, and the prompt at 5.
      ["tokens", -60_000_000],
    ] as const) {
      const key = await world.creditCaller(1);
      world.provider.script({ ...sse(""), steps: [{ write: partial }, ending] });
      expect(await (await draw({ model, n: 2, stream: true }, key)).text()).toContain('"error"');
      const [charge, ...others] = await world.chargesOf(key);
      expect(others).toEqual([]);
      expect(charge).toMatchObject({ basis: "estimated", outcome: "failed" });
      expect(charge?.amount).toBeWithin(amount - 200_000, amount + 1);
    }
  });

  test("after one of its images costs that as reported, and the other as held", async () => {
    for (const [model, least] of [
      ["each", 80_000_000],
      ["tokens", 15_210_000 + 30_000_000],
    ] as const) {
      const key = await world.creditCaller(1);
      world.provider.script({ ...sse(""), steps: [{ write: completed + partial }, { reset: true }] });
      await (await draw({ model, n: 2, stream: true }, key)).text();
      const [charge] = await world.chargesOf(key);
      expect(charge).toMatchObject({ basis: "estimated", outcome: "failed" });
      expect(charge?.amount).toBeWithin(-least - 100_000, -least + 1);
    }
  });

  test("before its first event costs nothing", async () => {
    const key = await world.creditCaller(1);
    world.provider.script({ ...sse(""), steps: [{ write: ": hello\n\n" }, { reset: true }] });
    await (await draw({ model: "each", stream: true }, key)).text();
    expect(await world.chargesOf(key)).toEqual([]);
  });

  test("costs as much after a crash: what it would cost is journaled while it runs", async () => {
    const key = await world.creditCaller(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const steps = [{ write: partial }, { until: promise }, { write: completed }];
    world.provider.script({ ...sse(""), steps });
    const response = await draw({ model: "each", n: 2, stream: true }, key);
    const journaled = async () => (await world.running.store.load()).openHolds;
    await waitFor(
      async () => (await journaled()).some(({ chargeSoFar }) => chargeSoFar === 80_000_000),
      "what it would cost to be journaled",
    );
    resolve();
    await response.text();
  });

  test("is journaled after its client has left, too", async () => {
    const key = await world.creditCaller(1);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const steps = [
      { write: event({}) },
      { until: begun },
      { write: partial },
      { until: ended },
      { write: completed },
    ];
    world.provider.script({ ...sse(""), steps });
    const leaving = new AbortController();
    const body = { model: "each", prompt: "x", stream: true };
    await world.ask(key, { path, body, signal: leaving.signal });
    leaving.abort();
    const underWay = () => [...world.gateway.ongoing.exchanges()];
    await waitFor(
      () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
      "the client to have left",
    );
    begin();
    const journaled = async () => (await world.running.store.load()).openHolds;
    await waitFor(
      async () => (await journaled()).some(({ chargeSoFar }) => chargeSoFar === 40_000_000),
      "what it would cost to be journaled",
    );
    end();
    expect(await world.chargesOf(key)).toMatchObject([{ amount: -40_000_000, outcome: "cancelled" }]);
  });
});

test("a price that has only what is sent is refused by name: the images would be free", async () => {
  const response = await draw({ model: "half-priced" });
  const { error } = (await response.json()) as { error: { message: string; param: string } };
  expect([response.status, error.param]).toEqual([400, "model"]);
  expect(error.message).toContain("`price.image_output`");
  expect(world.provider.requests).toHaveLength(0);
});

test("a second model for drawings is refused by its name", async () => {
  const response = await draw({ model: "each", svg: { model: "other" } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "svg.model" } });
});

test("edits come as JSON with addresses, or as a form", async () => {
  world.provider.script(json({ created: 1, data: images(1) }));
  const asJson = await world.ask(caller, {
    path: "/v1/images/edits",
    body: { model: "each", prompt: "x", images: [{ image_url: "https://example.com/a.png" }] },
  });
  expect(asJson.headers.get("x-sluice-cost")).toBe("0.04");
  const form = new FormData();
  form.set("model", "each");
  form.set("prompt", "brighter");
  form.set("n", "1");
  form.append("image[]", new File(["PNG1"], "a.png", { type: "image/png" }));
  form.append("image[]", new File(["PNG2"], "b.png", { type: "image/png" }));
  const response = await fetch(`${world.running.url}/v1/images/edits`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: form,
  });
  expect(response.status).toBe(200);
  const seen = world.provider.requests.at(-1);
  const sent = await new Response(seen?.bytes, {
    headers: { "content-type": seen?.headers["content-type"] ?? "" },
  }).formData();
  expect(sent.get("model")).toBe("image-upstream");
  expect(sent.get("prompt")).toBe("brighter");
  expect(await Promise.all(sent.getAll("image[]").map((file) => (file as File).text()))).toEqual([
    "PNG1",
    "PNG2",
  ]);
});

test("tokens that the provider does not tell are those that were held for", async () => {
  const key = await world.creditCaller(1);
  world.provider.script(json({ created: 1, data: images(1), usage: { input_tokens: 10 } }));
  const response = await draw({ model: "tokens" }, key);
  expect(response.headers.get("x-sluice-cost")).toBe("0.03005");
});
