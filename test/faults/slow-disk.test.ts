import { afterAll, beforeAll, expect, test } from "bun:test";
import { sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { canMakeSlowDisk, makeSlowDisk } from "../support/slow-disk.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";

let provider: ScriptedProvider;

beforeAll(() => {
  provider = startProvider();
});
afterAll(() => provider.stop());

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };
const syncMs = 500;
const drips = 120;

/** Asks one after the other, so that each answer waits for a sync of its own. */
async function askRepeatedly(sluice: Sluice, key: TestKey, count: number): Promise<void> {
  for (let asked = 0; asked < count; asked += 1) {
    const response = await sluice.request("/v1/chat/completions", { key, body: ask });
    expect(response.status).toBe(200);
    await response.text();
  }
}

/** Reads a stream to its end, and gives the longest time between two of its drips. What follows them waits for the charge. */
async function longestGapMs(reader: StreamReader, drip: string): Promise<number> {
  const arrivals: number[] = [];
  for (let chunk = await reader.nextChunk(); chunk !== null; chunk = await reader.nextChunk()) {
    if (new TextDecoder().decode(chunk).replaceAll(drip, "") === "") arrivals.push(performance.now());
  }
  expect(arrivals.length).toBeGreaterThan(drips / 2);
  return Math.max(...arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? at)));
}

test.skipIf(!canMakeSlowDisk)(
  "a disk that becomes slow delays charges, and no stream",
  async () => {
    using disk = makeSlowDisk();
    const events = fixture("chat/text.sse").split(/(?<=\n\n)/);
    // The first chunk has only a role, and waits for content.
    const [role = "", word = ""] = events;
    const dripping = Array.from({ length: drips }, () => [{ write: word }, { sleepMs: 25 }]).flat();
    provider.script((request) =>
      request.body["stream"] === true
        ? { ...sse(""), steps: [{ write: role }, ...dripping, { write: events.slice(2).join("") }] }
        : answerFrom("chat/text.json"),
    );
    await using sluice = await startSluice({ config: configFor({ url: provider.url }), env: disk.env });
    const key = await sluice.createKey();
    await askRepeatedly(sluice, key, 3);

    disk.delay(syncMs);
    const streaming = await sluice.request("/v1/chat/completions", { key, body: { ...ask, stream: true } });
    const reader = new StreamReader(streaming);
    const [gapMs] = await Promise.all([longestGapMs(reader, word), askRepeatedly(sluice, key, 3)]);
    expect(reader.result().text).toEndWith("data: [DONE]\n\n");
    expect(gapMs).toBeLessThan(syncMs / 2);

    disk.delay(0);
    await askRepeatedly(sluice, key, 3);
    expect((await sluice.run("ledger", "audit")).code).toBe(0);
    expect(await sluice.stop()).toBe(0);
  },
  60_000,
);
