import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { JsonObject } from "../../src/base/json.ts";
import { estimateInput, estimateText } from "../../src/catalog/estimate.ts";
import type { ClientDialectName } from "../../src/dialects/registry.ts";
import type { Entry } from "../../src/store/store.ts";
import { hello, paths, streamEvents, usageOf } from "../gateway/wire-answers.ts";
import { sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

/** A stream that runs is journaled while it runs: after `kill -9` it is charged for what it had produced. */
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

for (const dialect of ["chat", "responses", "messages"] as const satisfies readonly ClientDialectName[]) {
  test(`a long ${dialect} stream that is killed is charged for what it had produced`, async () => {
    const key = await sluice.createKey();
    const body = hello(dialect, models[dialect], { stream: true });
    const firstUsage = usageOf(dialect, 100, 1);
    const events = streamEvents(dialect, {
      text: words.join(""),
      ...(dialect === "messages" ? { firstUsage } : {}),
    });
    const cuts = [" navigable", "them."].map((word) => events.findIndex((event) => event.includes(word)) + 1);
    const later = Promise.withResolvers<void>();
    const steps = [
      { write: events.slice(0, cuts[0]).join("") },
      { until: later.promise },
      { write: events.slice(cuts[0], cuts[1]).join("") },
      { stall: true as const },
    ];
    provider.script({ ...sse(""), steps });
    const response = await sluice.request(paths[dialect], { key, body });
    const reader = new StreamReader(response);
    await reader.until("navigable");

    // Messages reports its input at the start; the others' is what was set aside for it.
    const input = dialect === "messages" ? 100 : estimateInput(body as JsonObject);
    const first = estimateText(words[0]);
    const amounts = [first, first + estimateText(words[1])].map((output) => input * 1_000 + output * 2_000);
    await waitFor(() => journaled() === amounts[0], "the first words to be journaled");
    later.resolve();
    await reader.until("them.");
    await waitFor(() => journaled() === amounts[1], "the rest to be journaled");

    await sluice.kill9();
    await sluice.restart();
    const exported = await sluice.cli("ledger", "export", "--format", "jsonl");
    const entries = exported.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry);
    const charges = entries.filter((entry) => entry.keyId === key.id && entry.kind === "charge");
    expect(charges).toMatchObject([
      {
        amount: -(amounts[1] ?? 0),
        outcome: "interrupted",
        basis: "estimated",
        exchangeId: response.headers.get("x-request-id"),
      },
    ]);
    expect(journaled()).toBe(0);
    const told = '"interrupted":1,"msg":"the last process ended in the middle of requests';
    await sluice.told(told);
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
  }, 60_000);
}
