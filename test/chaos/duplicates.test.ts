import { afterAll, beforeAll, expect, test } from "bun:test";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { drip } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { readStream } from "../support/sse.ts";

/**
 * Invariant 7: clients that send one request again and again, several at once, while the program is killed
 * and started: they all read the same answer, and it is charged once.
 */
const isCompiled = process.env["SLUICE_TEST_TARGET"] === "executable";
const cycles = process.env["SLUICE_SOAK"] === "1" ? 200 : isCompiled ? 6 : 3;
const payers = 6;
const racers = 4;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider((request) =>
    request.body["stream"] === true ? drip(answerFrom("chat/text.sse"), 4) : usualResponse(request),
  );
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

/** One logical request of one client, and every complete response to it. */
class Wish {
  readonly #key: TestKey;
  readonly #name: string;
  readonly #body: { stream: boolean };
  readonly answers: string[] = [];
  readonly statuses = new Set<number>();

  constructor(key: TestKey, name: string, random: SeededRandom) {
    this.#key = key;
    this.#name = name;
    const messages = [{ role: "user", content: name }];
    this.#body = { ...{ model: "gpt-test", max_tokens: 100, messages }, stream: random.chance(0.5) };
  }

  /** Asks until it has read a whole answer, or the server is gone. */
  async askUntilAnswered(): Promise<void> {
    for (let tries = 0; tries < 500; tries += 1) {
      const answered = await this.#ask().catch(() => "gone" as const);
      if (answered !== "again") return;
      await Bun.sleep(5);
    }
    throw new Error(`${this.#name} is never answered`);
  }

  async #ask(): Promise<"answered" | "again" | "gone"> {
    const headers = { "idempotency-key": this.#name };
    const response = await sluice.request("/v1/chat/completions", {
      key: this.#key,
      body: this.#body,
      headers,
    });
    const { text, failure } = await readStream(response);
    if (failure !== null) return "gone";
    this.statuses.add(response.status);
    if (response.status !== 200) return "again";
    const isWhole = this.#body.stream ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}\n");
    if (!isWhole) return "gone";
    this.answers.push(text);
    return "answered";
  }

  async expectConflict(): Promise<void> {
    const headers = { "idempotency-key": this.#name };
    const body = { ...this.#body, max_tokens: 99 };
    const response = await sluice.request("/v1/chat/completions", { key: this.#key, body, headers });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ error: { code: "idempotency_conflict" } });
  }
}

test(
  `duplicates that race with ${cycles} kills read one answer and are charged once (SEED=${seed})`,
  async () => {
    const random = seededRandom(seed);
    const keys = await Promise.all(Array.from({ length: payers }, () => sluice.createKey({ credit: 1000 })));
    const race = (wishes: readonly Wish[]) =>
      Promise.all(wishes.flatMap((wish) => Array.from({ length: racers }, () => wish.askUntilAnswered())));
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const wishes = keys.map((key) => new Wish(key, `wish-${cycle}`, random));
      const racing = race(wishes);
      await Bun.sleep(random.below(80));
      await sluice.kill9();
      await racing;
      await sluice.restart();
      await race(wishes);
      for (const wish of wishes) {
        expect(new Set(wish.answers).size).toBe(1);
        expect(wish.answers.length).toBeGreaterThanOrEqual(racers);
        expect([...wish.statuses].filter((status) => status !== 200 && status !== 409)).toEqual([]);
      }
      await random.pick(wishes).expectConflict();
    }
    await expectOneChargeEach(keys);
  },
  20 * 60_000,
);

/** A run that a crash cut off may have been charged for what it had produced; whole answers only once. */
async function expectOneChargeEach(keys: readonly TestKey[]): Promise<void> {
  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  const exported = await sluice.cli("ledger", "export", "--format", "jsonl");
  const entries = exported.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as EntryView);
  for (const { id } of keys) {
    const completed = entries.filter(
      ({ key_id, kind, outcome }) => key_id === id && kind === "charge" && outcome === "completed",
    );
    expect(completed).toHaveLength(cycles);
  }
}
