import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { hello, paths, streamEvents, usageOf } from "../gateway/wire-answers.ts";
import { type Answer, sse } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

/** A stream that runs is journaled while it runs: after `kill -9` it costs no more than it would have cost to leave it, and at least half. */
let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

/** What the journal knows of the one open hold, 0 before its first progress. */
function journaled(): number {
  using database = new Database(join(sluice.folder, "data", "sluice.db"), { readonly: true });
  const row = database
    .query<{ so_far: number | null }, []>("SELECT max(charge_so_far) AS so_far FROM holds")
    .get();
  return row?.so_far ?? 0;
}

const words = ["Sluices keep the canal navigable,", " and boats go up and down with them."] as const;
const models = { chat: "gpt-test", responses: "gpt-test", messages: "claude-test" } as const;
const dialects = ["chat", "responses", "messages"] as const satisfies readonly BodyDialectName[];

function eventsOf(dialect: BodyDialectName): string[] {
  const firstUsage = usageOf(dialect, 100, 1);
  return streamEvents(dialect, { text: words.join(""), ...(dialect === "messages" ? { firstUsage } : {}) });
}

async function read(dialect: BodyDialectName, key: TestKey, steps: Answer["steps"]) {
  provider.script({ ...sse(""), steps });
  const body = hello(dialect, models[dialect], { stream: true });
  const response = await sluice.request(paths[dialect], { key, body });
  return { reader: new StreamReader(response), id: response.headers.get("x-request-id") };
}

async function chargesOf(key: TestKey): Promise<EntryView[]> {
  const exported = await sluice.run("ledger", "export", "--format", "jsonl");
  const entries = exported.stdout.trim().split("\n");
  return entries
    .map((line) => JSON.parse(line) as EntryView)
    .filter((entry) => entry.key_id === key.id && entry.kind === "charge");
}

/** What a client pays that leaves behind the first, and behind the second part of the text. */
async function amountsOfCancels(dialect: BodyDialectName, parts: readonly string[]): Promise<number[]> {
  const amounts: number[] = [];
  for (const [index, word] of ["navigable", "them."].entries()) {
    const key = await sluice.createKey();
    const written = parts.slice(0, index + 1).join("");
    const { reader } = await read(dialect, key, [{ write: written }, { stall: true }]);
    await reader.until(word);
    await reader.cancel();
    await waitFor(async () => (await chargesOf(key)).length === 1, "the charge");
    amounts.push(-((await chargesOf(key))[0]?.amount ?? 0));
  }
  return amounts;
}

function isLike(journaled: number, cancelled = 0): boolean {
  return journaled >= cancelled / 2 && journaled <= cancelled;
}

for (const dialect of dialects) {
  test(`a long ${dialect} stream that is killed costs at most what a cancel at the same point does, and at least half`, async () => {
    const events = eventsOf(dialect);
    const cuts = [" navigable", "them."].map((word) => events.findIndex((event) => event.includes(word)) + 1);
    const parts = [events.slice(0, cuts[0]).join(""), events.slice(cuts[0], cuts[1]).join("")];
    const amounts = await amountsOfCancels(dialect, parts);

    const key = await sluice.createKey();
    const later = Promise.withResolvers<void>();
    const { reader, id } = await read(dialect, key, [
      { write: parts[0] ?? "" },
      { until: later.promise },
      { write: parts[1] ?? "" },
      { stall: true },
    ]);
    await reader.until("navigable");
    await waitFor(() => isLike(journaled(), amounts[0]), "the first words to be journaled");
    later.resolve();
    await reader.until("them.");
    const first = journaled();
    await waitFor(() => journaled() > first, "the rest to be journaled");
    const soFar = journaled();
    expect(isLike(soFar, amounts[1])).toBe(true);

    await sluice.kill9();
    await sluice.restart();
    expect(await chargesOf(key)).toMatchObject([
      { amount: -soFar, outcome: "interrupted", basis: "estimated", request_id: id },
    ]);
    expect(journaled()).toBe(0);
    const told = '"interrupted":1,"msg":"the last process stopped with requests in progress';
    await sluice.told(told);
    expect((await sluice.run("ledger", "audit")).code).toBe(0);
  }, 120_000);
}

test("a gateway that is killed while it waits for the usage of a client that has left charges what came", async () => {
  const key = await sluice.createKey();
  const events = eventsOf("messages");
  const [text, end] = ["them.", "content_block_stop"].map(
    (word) => events.findIndex((event) => event.includes(word)) + 1,
  );
  const later = Promise.withResolvers<void>();
  const { reader } = await read("messages", key, [
    { write: events.slice(0, text).join("") },
    { until: later.promise },
    { write: events.slice(text, end).join("") },
    { stall: true },
  ]);
  await waitFor(() => journaled() > 0, "what came to be journaled");
  // The gateway waits for the usage twice as long as the model's longest pause: long enough for the kill on a busy machine.
  await Bun.sleep(1_500);
  later.resolve();
  await reader.until("content_block_stop");
  await reader.cancel();
  const amount = journaled();
  expect(await chargesOf(key)).toEqual([]);
  await sluice.kill9();
  await sluice.restart();
  expect(await chargesOf(key)).toMatchObject([{ amount: -amount, outcome: "interrupted" }]);
  const counted = 100 * 1_000 + countTokens(words.join("")) * 2_000;
  expect(isLike(amount, counted)).toBe(true);
}, 120_000);
