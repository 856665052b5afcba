import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { onBothStores } from "../on-both-stores.ts";
import { turnTail } from "../turn-world.ts";
import { BatchClient, chatLines, type Line } from "./batch-world.ts";

const tail = `${turnTail}
[[models]]
id = "embedding"
provider = "openai"
serves = ["embeddings"]
price = { input = 1.0, output = 0.0 }
[[models]]
id = "off"
provider = "openai"
batch = "off"
price = { input = 1.0, output = 2.0 }
`;

onBothStores(tail, (world) => {
  const large = { role: "user", content: "word ".repeat(300_000) };
  const cases: readonly (readonly [string, readonly JsonObject[]])[] = [
    [
      "/v1/chat/completions",
      [
        ...chatLines(2).map(({ body = {} }) => body),
        { model: "claude-test", messages: [{ role: "user", content: "Hi" }] },
        { model: "gemini-test", max_tokens: 1, messages: [large] },
      ],
    ],
    ["/v1/messages", [{ model: "gpt-test", max_tokens: 7, messages: [{ role: "user", content: "Hi" }] }]],
    ["/v1/responses", [{ model: "claude-test", input: "Hello" }]],
    ["/v1/embeddings", [{ model: "embedding", input: ["Hello", "you"] }]],
  ];

  test.each(cases)("an estimate of %s is what the lines are held for", async (endpoint, bodies) => {
    let held = 0;
    for (const body of bodies) held += await world().heldFor({ path: endpoint, body });
    const client = BatchClient.of(world(), await world().creditCaller());
    const lines: Line[] = bodies.map((body) => ({ body }));
    const { id, sluice } = await client.create(lines, endpoint);
    expect(sluice.estimate).toBeCloseTo(held, 8);
    if (endpoint === "/v1/embeddings") return;
    const ended = await client.untilEnded(id);
    expect(ended.sluice.estimate).toBe(sluice.estimate);
    expect(ended.sluice.charged).toBeLessThanOrEqual(sluice.estimate ?? 0);
    expect(ended.sluice.charged).toBeGreaterThan(0);
  });

  test("lines that would be rejected hold nothing", async () => {
    const client = BatchClient.of(world(), await world().creditCaller());
    const [good] = chatLines(1);
    const bad = [
      { model: "unknown" },
      { model: "off" },
      { stream: true },
      { messages: 1 },
      { background: true },
    ];
    const only = await client.create([{ body: good?.body ?? {} }]);
    const all = [{}, ...bad].map((fields) => ({ body: { ...good?.body, ...fields } }));
    expect((await client.create(all)).sluice.estimate).toBe(only.sluice.estimate);
  });

  test("a batch names the model of all its lines, if it is one", async () => {
    const client = BatchClient.of(world(), await world().creditCaller());
    const [{ body } = { body: {} }] = chatLines(1);
    const modelOf = async (...models: string[]) => {
      const { id } = await client.create(models.map((model) => ({ body: { ...body, model } })));
      return (await client.untilEnded(id)).model;
    };
    expect(await modelOf("gpt-test", "gpt-test")).toBe("gpt-test");
    expect(await modelOf("gpt-test", "claude-test")).toBeUndefined();
    expect(await modelOf("gpt-test", "unknown")).toBeUndefined();
  });

  test("the estimate of a token budget is in tokens", async () => {
    const client = BatchClient.of(world(), await world().tokenCaller(100_000));
    const [line] = chatLines(1);
    const one = await client.create([{ body: line?.body ?? {} }]);
    const three = await client.create(Array.from({ length: 3 }, () => ({ body: line?.body ?? {} })));
    expect(one.sluice.estimate).toBeGreaterThan(20);
    expect(three.sluice.estimate).toBe(3 * (one.sluice.estimate ?? 0));
  });

  test("a message batch has an estimate, which operators see", async () => {
    const caller = await world().creditCaller();
    const params = { model: "claude-test", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] };
    const held = await world().heldFor({ path: "/v1/messages", body: params });
    const client = BatchClient.of(world(), caller);
    const { body } = await client.call("POST", "/messages/batches", {
      requests: [{ custom_id: "a", params }],
    });
    const found = await world().running.store.batches.get(body.id);
    expect((found?.estimate ?? 0) / nanoPerCredit).toBeCloseTo(held, 8);
  });
});
