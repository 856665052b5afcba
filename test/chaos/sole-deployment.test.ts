import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Answer, hangUp, json, text } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** A model's only provider fails almost half of the requests. The gateway must not lower the success rate. */
const questions = 120;
const share = 67 / 120;
const faults: readonly (() => Answer)[] = [
  () => json({ error: { message: "boom" } }, { status: 500 }),
  () => json({ error: { message: "busy" } }, { status: 503 }),
  () => json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after-ms": "200" } }),
  () => text("<html>", "text/html"),
  hangUp,
];

let provider: ScriptedProvider;
let sluice: Sluice;
let keys: readonly TestKey[];

/** The same request gets the same response from any client; a retry may do better. */
function flaky(seed: number): (request: SeenRequest) => Answer {
  const random = seededRandom(seed);
  const verdicts = Array.from({ length: questions }, () =>
    random.chance(share) ? null : random.pick(faults),
  );
  return (request) => {
    const question = Number(/question-(\d+)/.exec(request.text)?.[1]);
    return verdicts[question]?.() ?? usualResponse(request);
  };
}

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: `
[providers.only]
kind = "openai-compatible"
base_url = "${provider.url}"
${["one", "two"].map((id) => `[[models]]\nid = "${id}"\nprovider = "only"\nmax_output_tokens = 100`).join("\n")}`,
  });
  const budget = 1_000_000_000;
  keys = await Promise.all([1, 2].map(() => sluice.createKey({ mode: "token_budget", budget })));
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function bodyOf(model: string, question: number) {
  return { model, messages: [{ role: "user", content: `question-${question}` }] };
}

async function directly(question: number): Promise<boolean> {
  try {
    const body = JSON.stringify(bodyOf("x", question));
    const response = await fetch(`${provider.url}/chat/completions`, { method: "POST", body });
    const said = await response.text();
    return response.status === 200 && said.startsWith("{");
  } catch {
    return false;
  }
}

async function countResponses(ask: (question: number) => Promise<boolean>): Promise<number> {
  let next = 0;
  let answered = 0;
  const client = async () => {
    for (let question = next++; question < questions; question = next++) {
      if (await ask(question)) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: 4 }, client));
  return answered;
}

for (const [model, keyCount, seed] of [
  ["one", 1, 21],
  ["two", 2, 22],
] as const) {
  test(`a provider that fails half the time answers ${keyCount} keys no less often than it does by itself (seed ${seed})`, async () => {
    provider.script(flaky(seed));
    const byItself = await countResponses(directly);
    expect(byItself).toBeWithin(50, 90);
    const throughUs = await countResponses(async (question) => {
      const key = keys[question % keyCount];
      if (key === undefined) throw new Error("there is no such key");
      const response = await sluice.request("/v1/chat/completions", { key, body: bodyOf(model, question) });
      await response.text();
      return response.status === 200;
    });
    expect(throughUs).toBeGreaterThanOrEqual(byItself);
    for (const key of keys) {
      const usage = async () =>
        (await (await sluice.request("/v1/usage", { key })).json()) as { tokens: { reserved: number } };
      await waitFor(async () => (await usage()).tokens.reserved === 0, "all holds to end");
    }
  }, 120_000);
}
