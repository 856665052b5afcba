import { afterAll, beforeAll, expect, test } from "bun:test";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { drip } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture, usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { type Sighting, Witness } from "./witness.ts";

/**
 * Invariant 4: a client that saw the end of a response finds its charge after `kill -9`. The program is
 * killed at random moments under load, started again, and its ledger is held against what clients saw.
 */
const isCompiled = process.env["SLUICE_TEST_TARGET"] === "executable";
const cycles = process.env["SLUICE_SOAK"] === "1" ? 500 : isCompiled ? 9 : 3;
const clients = 8;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

/** The provider's figures at the tests' prices, in nano-credits: 1,000 an input token and 2,000 an output token. */
const fullCost = costOfFixture();

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider((request) =>
    request.body["stream"] === true ? drip(answerFrom("chat/text.sse"), 2) : usualResponse(request),
  );
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

test(
  `${cycles} kills at random moments lose no charge and charge nothing twice (SEED=${seed})`,
  async () => {
    const random = seededRandom(seed);
    const witnesses: Witness[] = [];
    for (let index = 0; index < clients; index += 1) {
      witnesses.push(new Witness(await sluice.createKey({ credit: 1000 }), random));
    }
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const asking = witnesses.map((witness) => witness.askUntilGone(sluice));
      await Bun.sleep(10 + random.below(250));
      // On a busy machine nothing has ended by then, and a kill would prove nothing.
      await waitFor(() => finishedOf(witnesses).length > cycle + 1, "another answer to end");
      await sluice.kill9();
      await Promise.all(asking);
      await sluice.restart();
      await replaySome(witnesses, random);
    }
    await compare(witnesses.flatMap((witness) => witness.sightings));
  },
  20 * 60_000,
);

function finishedOf(witnesses: readonly Witness[]): Sighting[] {
  return witnesses.flatMap(({ sightings }) => sightings).filter(({ sawEnd }) => sawEnd);
}

/** A retry of what was finished before the crash gets the same bytes again; that nothing is charged shows later. */
async function replaySome(witnesses: readonly Witness[], random: SeededRandom): Promise<void> {
  const finished = finishedOf(witnesses).filter(({ idempotencyKey }) => idempotencyKey !== null);
  if (finished.length === 0) return;
  const { key, body, text, idempotencyKey } = random.pick(finished);
  const headers = { "idempotency-key": idempotencyKey ?? "" };
  const again = await sluice.request("/v1/chat/completions", { key, body, headers });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.text()).toBe(text);
}

async function compare(sightings: readonly Sighting[]): Promise<void> {
  const audit = await sluice.run("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  const charges = await chargesByExchange();

  const finished = sightings.filter((sighting) => sighting.sawEnd);
  expect(finished.length).toBeGreaterThan(cycles);
  const lost = finished.filter((sighting) => !charges.has(sighting.exchangeId));
  expect(lost.map((sighting) => sighting.exchangeId)).toEqual([]);
  for (const { exchangeId } of finished) {
    expect(charges.get(exchangeId)).toMatchObject([
      { amount: -fullCost, outcome: "completed", basis: "measured" },
    ]);
  }

  for (const [exchangeId, entries] of charges) {
    expect(entries, `exchange ${exchangeId} is charged once`).toHaveLength(1);
    expect(["completed", "interrupted", "cancelled"]).toContain(entries[0]?.outcome ?? "none");
  }
  await nothingIsHeld(new Set(sightings.map((sighting) => sighting.key)));
}

async function chargesByExchange(): Promise<Map<string, EntryView[]>> {
  const exported = await sluice.run("ledger", "export", "--format", "jsonl");
  const charges = new Map<string, EntryView[]>();
  for (const line of exported.stdout.trim().split("\n")) {
    const entry = JSON.parse(line) as EntryView;
    if (entry.kind !== "charge" || entry.request_id === null) continue;
    charges.set(entry.request_id, [...(charges.get(entry.request_id) ?? []), entry]);
  }
  return charges;
}

async function nothingIsHeld(keys: ReadonlySet<Sighting["key"]>): Promise<void> {
  for (const key of keys) {
    const summary = (await (await sluice.request("/v1/usage", { key })).json()) as {
      credits: { reserved: number };
    };
    expect(summary.credits.reserved).toBe(0);
  }
}

function costOfFixture(): number {
  const { usage } = JSON.parse(fixture("chat/text.json"));
  return usage.prompt_tokens * 1000 + usage.completion_tokens * 2000;
}
