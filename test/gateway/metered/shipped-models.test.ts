import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../../src/base/json.ts";
import { loadSettings } from "../../../src/config/load.ts";
import type { PriceConfig } from "../../../src/config/schema.ts";
import { quirksOf } from "../../../src/vendors/compatible/known-servers.ts";
import { type Answer, json } from "../../support/answers.ts";
import { upstreamKeys } from "../../support/config.ts";
import { type SeenRequest, startProvider } from "../../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { embeddingAnswer } from "./embedding-provider.ts";
import { meteredCases } from "./routes.ts";

/** The shipped catalog as it is, but for where its providers are: each model is asked for what it serves. */
const file = join(import.meta.dir, "..", "..", "..", "config", "models.toml");
const text = readFileSync(file, "utf8");
const env = Object.fromEntries(
  [...text.matchAll(/"env:(\w+)"/g)].map(([, name]) => [name, upstreamKeys.TEST_OPENAI_KEY]),
);
const metered = loadSettings({ file, env, cwd: "." }).settings.models.flatMap(({ id, serves }) =>
  serves.filter((use) => use !== "generation").map((use) => [id, use] as const),
);
const prices = new Map(
  // The file has been loaded above, which checks it against the schema of these.
  Object(Bun.TOML.parse(text))["models"].map(({ id, price = {} }: { id: string; price: PriceConfig }) => [
    id,
    price,
  ]),
) as ReadonlyMap<string, PriceConfig>;

const figures: Readonly<Record<string, JsonObject>> = {
  rerank: { usage: { total_tokens: 50 } },
  images: { usage: { input_tokens: 10, output_tokens: 100 } },
  transcriptions: { usage: { type: "tokens", input_tokens: 20, output_tokens: 30 } },
};

/** In USD, by the numbers above and in the cases. */
function costOf(use: string, { input = 0, output = 0, ...price }: PriceConfig): number {
  const { audio_input: sound = 0, image_output: image = 0, characters = 0 } = price;
  switch (use) {
    case "embeddings":
      return (3 * input) / 1e6;
    case "rerank":
      return (50 * input) / 1e6;
    case "images":
      return (10 * input + 100 * image) / 1e6;
    case "transcriptions":
      return price.audio_minutes === undefined
        ? (20 * sound + 30 * output) / 1e6
        : 0.05 * price.audio_minutes;
    default:
      return (5 * characters) / 1e6;
  }
}

const provider = startProvider(answer);
let sluice: Sluice;
let key: TestKey;
beforeAll(async () => {
  const { url } = provider;
  const config = text
    .replaceAll(/^base_url = "(.+)"$/gm, (_, known: string) => {
      const quirks = JSON.stringify(quirksOf(known));
      return `base_url = "${url}${new URL(known).pathname}"\nquirks = ${quirks}`;
    })
    .replaceAll('kind = "openai"', `kind = "openai"\nbase_url = "${url}/v1"`)
    .replaceAll('kind = "gemini"', `kind = "gemini"\nbase_url = "${url}"`);
  sluice = await startSluice({ config, env });
  key = await sluice.createKey({ credit: 10 });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function answer(request: SeenRequest): Answer {
  const [, use] = metered.find(([id]) => request.body["model"] === id) ?? [];
  const found = use === undefined ? undefined : meteredCases[use];
  if (use === undefined || use === "embeddings" || found === undefined) return embeddingAnswer(request);
  const isInTokens = prices.get(String(request.body["model"]))?.audio_minutes === undefined;
  const told = figures[use];
  if (told === undefined || !isInTokens) return found.answer;
  return json({ text: "hello", results: [{ index: 0, relevance_score: 1 }], data: [{ url: "" }], ...told });
}

test.each(metered)("%s serves %s, at its price", async (model, use) => {
  const { path, body } = meteredCases[use] ?? { path: "", body: {} };
  const response = await sluice.request(path, { key, body: { model, ...body } });
  expect(response.status, await response.clone().text()).toBe(200);
  const cost = Number(response.headers.get("x-sluice-cost"));
  expect(cost).toBeCloseTo(costOf(use, prices.get(model) ?? {}), 8);
  expect(cost > 0).toBe(use !== "moderations");
});
