import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { talker } from "./pairs.ts";
import { paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** A document of any size may fill the model's context window, so its cost has to be held before it is sent. */
let world: World;
beforeAll(async () => {
  world = await World.start({ tail: talker });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** A hundred pages that are all the same one. */
const manyPages = Buffer.from(
  `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 100/Kids[${"3 0 R ".repeat(100)}]>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>`,
).toString("base64");
const address = "https://example.com/report.pdf";

const parts: Readonly<Record<BodyDialectName, Readonly<Record<string, object>>>> = {
  chat: {
    "in bytes": {
      type: "file",
      file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${manyPages}` },
    },
  },
  responses: {
    "in bytes": {
      type: "input_file",
      filename: "a.pdf",
      file_data: `data:application/pdf;base64,${manyPages}`,
    },
    "by address": { type: "input_file", file_url: address },
  },
  messages: {
    "in bytes": {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: manyPages },
    },
    "by address": { type: "document", source: { type: "url", url: address } },
  },
};
const models = { chat: "gpt-test", responses: "gpt-test", messages: "claude-test" } as const;
/** At the highest rate of input, 1.25 USD per million tokens, and 10 tokens of output at 2. */
const window = 200_000;
const heldNano = window * 1_250 + 10 * 2_000;

function bodyOf(dialect: BodyDialectName, part: object, more: object = {}): object {
  const message = { role: "user", content: [part] };
  const limit = dialect === "responses" ? { max_output_tokens: 10 } : { max_tokens: 10 };
  const asked = dialect === "responses" ? { input: [message] } : { messages: [message] };
  return { model: models[dialect], ...asked, ...limit, ...more };
}

for (const dialect of ["chat", "responses", "messages"] as const) {
  describe.each(Object.entries(parts[dialect]))(`a PDF of a ${dialect} client %s`, (_how, part) => {
    test("is held for the whole window, to the nano-credit", async () => {
      const usage = usageOf(dialect, 180_000, 10);
      world.provider.script(wholeAnswer(dialect, { text: "Hi", usage }));
      const ask = { path: paths[dialect], body: bodyOf(dialect, part) };
      const poor = await world.creditCaller((heldNano - 1) / 1e9);
      const refused = await world.ask(poor, ask);
      expect(refused.status).toBe(402);
      expect(world.provider.requests).toHaveLength(0);
      const exact = await world.creditCaller(heldNano / 1e9);
      const answered = await world.ask(exact, ask);
      expect(answered.status).toBe(200);
      await answered.text();
      expect(await world.chargesOf(exact)).toEqual([
        { amount: -(180_000 * 1_000 + 10 * 2_000), basis: "measured", outcome: "completed" },
      ]);
    });

    test("takes the tokens of the window from a budget", async () => {
      world.provider.script(wholeAnswer(dialect, { text: "Hi", usage: usageOf(dialect, 100, 10) }));
      const ask = { path: paths[dialect], body: bodyOf(dialect, part) };
      expect((await world.ask(await world.tokenCaller(window + 9), ask)).status).toBe(402);
      expect((await world.ask(await world.tokenCaller(window + 10), ask)).status).toBe(200);
    });
  });
}

test("a document in a body that is read on another thread is held the same", async () => {
  const long = { type: "text", text: "x".repeat(1_100_000) };
  const body = bodyOf("messages", parts.messages["by address"] ?? {}, { system: [long] });
  const poor = await world.creditCaller(0.1);
  expect((await world.ask(poor, { path: paths.messages, body })).status).not.toBe(200);
  expect(world.provider.requests).toHaveLength(0);
});

test("a translated request with a document is held the same", async () => {
  const part = parts.messages["in bytes"] ?? {};
  const body = bodyOf("messages", part, { model: "talker" });
  // Its window is 8192.
  const exactNano = 8_192 * 1_250 + 10 * 2_000;
  expect(
    (await world.ask(await world.creditCaller((exactNano - 1) / 1e9), { path: paths.messages, body })).status,
  ).toBe(402);
  world.provider.script(wholeAnswer("responses", { text: "Hi", usage: usageOf("responses", 100, 10) }));
  expect(
    (await world.ask(await world.creditCaller(exactNano / 1e9), { path: paths.messages, body })).status,
  ).toBe(200);
});
