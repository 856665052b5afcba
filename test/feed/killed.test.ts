import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedEntryView, VerifyView } from "../../src/admin/feed/schema.ts";
import { systemClock } from "../../src/base/clock.ts";
import { exactCredits, nanoFromExact } from "../../src/base/money/money.ts";
import { FragileNodes } from "../cluster/fragile-nodes.ts";
import { keyRecord, settleItem } from "../store/fixtures.ts";
import { bookCharges } from "../store/postgres/charge.ts";
import { clientOf } from "../store/postgres/fixtures.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { openGatewayStore } from "../store/sqlite/fixtures.ts";
import { configFor } from "../support/config.ts";
import { usualResponse } from "../support/fixtures.ts";
import { freePort } from "../support/free-port.ts";
import { newFolder } from "../support/new-folder.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { startProvider } from "../support/provider.ts";
import { seededRandom } from "../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const isSoak = process.env["SLUICE_SOAK"] === "1";
const kills = isSoak ? 50 : 4;
const prepared = isSoak ? 50_000 : 1_000;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const tail = '[feed]\nurl = "env:FEED_URL"\nsecret = "env:FEED_SECRET"';
const body = { model: "gpt-test", max_tokens: 10, messages: [{ role: "user", content: "Hello" }] };

/** The receiver's process, and what it has stored. */
class Receiver implements AsyncDisposable {
  readonly port = freePort();
  readonly #file = join(newFolder(), "posts");
  #child = this.#start();

  get env(): Record<string, string> {
    return { FEED_URL: `http://127.0.0.1:${this.port}/`, FEED_SECRET: "feed-canary" };
  }

  #start() {
    const command = [process.execPath, join(import.meta.dir, "receiver-process.ts")];
    return Bun.spawn([...command, String(this.port), this.#file, isSoak ? "15" : "5"], { stdout: "ignore" });
  }

  async killAndRestart(): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#child = this.#start();
  }

  get posts(): readonly string[] {
    if (!existsSync(this.#file)) return [];
    return readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
  }

  /** The newest entry that it has: the key of a post is that entry's cursor, which begins with its id. */
  get lastId(): number {
    return Number.parseInt(this.posts.at(-1) ?? "0", 10);
  }

  get entries(): readonly FeedEntryView[] {
    return this.posts.flatMap(
      (line) => (JSON.parse(line.slice(line.indexOf(" "))) as { data: FeedEntryView[] }).data,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}

interface Killed {
  readonly receiver: Receiver;
  readonly gateways: readonly Sluice[];
  readonly key: TestKey;
}

/** Kills a gateway or the receiver, in turns, while clients keep adding entries and the feed is sent. */
async function killOften({ receiver, gateways, key }: Killed): Promise<void> {
  const random = seededRandom(seed);
  let isOver = false;
  const asking = gateways.map(async (gateway) => {
    // While a gateway is gone, its client fails, and tries again.
    while (!isOver) {
      await gateway.request("/v1/chat/completions", { key, body }).then(
        (response) => response.text(),
        () => Bun.sleep(20),
      );
    }
  });
  for (let kill = 0; kill < kills; kill += 1) {
    const place = Math.floor((prepared * (kill + 0.5)) / kills);
    await waitFor(() => receiver.lastId > place, `the receiver to have entry ${place}`, 120_000);
    await Bun.sleep(random.below(60));
    if (kill % 2 === 1) await receiver.killAndRestart();
    else {
      const victim = gateways[(kill / 2) % gateways.length] as Sluice;
      await victim.kill9();
      await victim.restart();
    }
  }
  isOver = true;
  await Promise.all(asking);
}

/** Compares what the receiver has with the ledger, by the command that its operator would use. */
async function compare({ receiver, gateways }: Killed): Promise<void> {
  const [gateway] = gateways as [Sluice, ...Sluice[]];
  // Requests that were killed are charged later, when their holds are taken over.
  await waitFor(
    async () => {
      const { waiting, state } = await gateway.cliJson<{ waiting: number; state: string }>(
        "ledger",
        "feed",
        "status",
      );
      return waiting === 0 && state === "sending";
    },
    "everything to be sent",
    120_000,
  );
  const { entries } = receiver;
  const ids = entries.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  const total = entries.reduce((sum, { credits }) => sum + (nanoFromExact(credits ?? "0") ?? 0n), 0n);
  const through = entries.at(-1)?.cursor ?? "";
  const counted = ["--count", String(entries.length), "--total", exactCredits(total)];
  const verified = await gateway.cliJson<VerifyView>(
    "ledger",
    "feed",
    "verify",
    "--through",
    through,
    ...counted,
  );
  expect(verified).toMatchObject({ ok: true });
  expect(entries.length).toBeGreaterThan(prepared);
  if (isSoak)
    console.log(`${entries.length} entries in ${receiver.posts.length} posts, ${kills} kills (SEED=${seed})`);
}

test(
  `${kills} kills of the gateway and the receiver lose no entry and double none (SQLite, SEED=${seed})`,
  async () => {
    const provider = startProvider(usualResponse);
    await using receiver = new Receiver();
    await using gateway = await startSluice({
      config: configFor({ url: provider.url, tail }),
      env: receiver.env,
      fill: async (dir) => {
        putEmptyLedger(dir);
        const store = await openGatewayStore(dir, systemClock);
        const filled = keyRecord();
        await store.insertKey(filled, 1_000_000_000);
        for (let from = 0; from < prepared; from += 500)
          await store.commit(Array.from({ length: 500 }, () => settleItem(filled.id, 1)));
        await store.close();
      },
    });
    const killed = { receiver, gateways: [gateway], key: await gateway.createKey() };
    await killOften(killed);
    await compare(killed);
    const ids = receiver.entries.map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => index + 1));
    provider.stop();
  },
  isSoak ? 1_800_000 : 180_000,
);

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test(
    `${kills} kills of two gateways and the receiver lose no entry and double none (PostgreSQL, SEED=${seed})`,
    async () => {
      const provider = startProvider(usualResponse);
      await using receiver = new Receiver();
      await using nodes = await FragileNodes.start(2, provider, { tail, env: receiver.env });
      const key = await nodes.at(0).createKey({ credit: 1_000 });
      const client = clientOf(nodes.databaseUrl, { max: 2 });
      const filling = (async () => {
        for (let from = 0; from < prepared; from += 250)
          await bookCharges(
            client,
            Array.from({ length: 250 }, () => settleItem(key.id, 1)),
          );
        await client.close();
      })();
      const killed = { receiver, gateways: nodes.all, key };
      await killOften(killed);
      await filling;
      await compare(killed);
      provider.stop();
    },
    isSoak ? 3_600_000 : 240_000,
  );
