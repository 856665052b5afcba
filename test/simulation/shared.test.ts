import { expect, test } from "bun:test";
import { strict as assert } from "node:assert";
import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import type { Hold } from "../../src/ledger/accounts.ts";
import { audit } from "../../src/ledger/audit.ts";
import { SharedAccounts } from "../../src/ledger/shared-accounts.ts";
import type { StoreNode } from "../../src/store/node.ts";
import { joinStore, openStore } from "../../src/store/open.ts";
import { type Store, StoreRefusal } from "../../src/store/store.ts";
import { settlement } from "../ledger/fixtures.ts";
import { keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../support/postgres.ts";
import { AccountModel } from "./account-model.ts";
import { SeededRandom } from "./random.ts";

/** `SEED=n` replays one run; `SLUICE_SOAK=1` runs through the night. */
const replay = process.env["SEED"];
const runs = process.env["SLUICE_SOAK"] === "1" ? 50_000 : 500;
const steps = 40;
/** Their holds and charges share batches, as those of requests do. */
const atOnce = 100;
const hourMs = 3_600_000;

interface Database {
  readonly store: Store;
  readonly node: StoreNode;
}

/**
 * The same histories as on SQLite, of accounts that the database keeps: what it decides must be what the model says,
 * operation by operation, while others use it too.
 */
class SharedSimulation {
  readonly #database: Database;
  readonly #random: SeededRandom;
  readonly #clock = new FakeClock("2026-03-10T20:00:00Z");
  readonly #models: readonly AccountModel[];
  readonly #accounts: SharedAccounts;
  readonly #running: { readonly hold: Hold; readonly model: AccountModel }[] = [];

  private constructor(database: Database, random: SeededRandom, models: readonly AccountModel[]) {
    this.#database = database;
    this.#random = random;
    this.#models = models;
    const keys = models.map(({ key }) => key);
    this.#accounts = new SharedAccounts({ node: database.node, clock: this.#clock, keys });
  }

  static async run(database: Database, seed: number): Promise<readonly AccountModel[]> {
    const models = [
      new AccountModel(keyRecord({ mode: "credit" })),
      new AccountModel(keyRecord({ mode: "token_budget", budgetTokens: 1_000, period: "day" })),
      new AccountModel(keyRecord({ mode: "token_budget", budgetTokens: 3_000, period: "none" })),
    ];
    for (const model of models) {
      if (model.isCredit) model.posted = 1_000;
      await database.store.insertKey(model.key, model.posted);
    }
    const simulation = new SharedSimulation(database, new SeededRandom(seed), models);
    try {
      for (let step = 0; step < steps; step += 1) await simulation.#step();
      while (simulation.#running.length > 0) await simulation.#settle();
      assert.equal(simulation.#accounts.openHolds, 0);
      return models;
    } catch (error) {
      throw new Error(`The simulation failed. Replay it with SEED=${seed}.`, { cause: error });
    }
  }

  async #step(): Promise<void> {
    const choice = this.#random.between(1, 100);
    if (choice <= 45) await this.#hold();
    else if (choice <= 70) await this.#settle();
    else if (choice <= 80) await this.#release();
    else if (choice <= 92) await this.#operate();
    else this.#moveClock();
  }

  async #hold(): Promise<void> {
    const model = this.#random.pick(this.#models);
    assert(model !== undefined);
    // The database learns of a new period by the next hold.
    model.see(this.#clock.wallMs());
    const amount = this.#random.between(0, 400);
    const expected = model.expectedRefusal(amount);
    const request = {
      keyId: model.key.id,
      exchangeId: newId("req_"),
      model: "house-model",
      askedModel: null,
      amount,
    };
    try {
      const hold = await this.#accounts.hold(request);
      assert.equal(null, expected, "admitted what had to be refused");
      model.open(hold);
      this.#running.push({ hold, model });
      assert.equal(this.#accounts.remaining(hold), Math.max(0, model.balance - model.held));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      assert.equal(error.code, expected, "refused for another reason");
    }
  }

  async #settle(): Promise<void> {
    const { hold, model } = this.#takeRunning() ?? {};
    if (hold === undefined || model === undefined) return;
    const exceeds = this.#random.chance(0.2);
    const cost = exceeds ? hold.amount + this.#random.between(1, 300) : this.#random.between(0, hold.amount);
    const charged = model.settle(hold, cost);
    const atMs = this.#clock.wallMs();
    const settled = await this.#accounts.settle(hold, settlement(hold, cost, {}, { atMs }));
    assert.deepEqual(settled, { charged, overrun: cost - charged });
    assert.equal(hold.charged, charged);
    // Whoever comes second finds it closed, and changes nothing.
    assert.equal(this.#accounts.release(hold), false);
    assert.equal(await this.#accounts.settle(hold, settlement(hold, 1)), null);
    await this.#compare(model);
  }

  async #release(): Promise<void> {
    const { hold, model } = this.#takeRunning() ?? {};
    if (hold === undefined || model === undefined) return;
    assert.equal(this.#accounts.release(hold), true);
    model.release(hold.id);
    await this.#compare(model);
  }

  /** A top-up, a correction in either direction, or another budget. */
  async #operate(): Promise<void> {
    const model = this.#random.pick(this.#models);
    assert(model !== undefined);
    const { store } = this.#database;
    if (!model.isCredit) {
      model.budget = this.#random.between(500, 4_000);
      const key = await store.updateKey(model.key.id, { budgetTokens: model.budget });
      this.#accounts.apply({ revision: 0, accounts: [], keys: [key], entries: [] });
      return;
    }
    const common = { keyId: model.key.id, reference: null, note: null, atMs: this.#clock.wallMs() };
    const isTopUp = this.#random.chance(0.6);
    const amountNano = isTopUp
      ? this.#random.between(1, 800)
      : this.#random.between(1, 300) * (this.#random.chance(0.7) ? -1 : 1);
    try {
      if (isTopUp) await store.recordTopUp({ ...common, amountNano });
      else await store.recordAdjustment({ ...common, amountNano });
      model.posted += amountNano;
    } catch (error) {
      assert(error instanceof StoreRefusal && error.reason === "invalid_amount", String(error));
      assert(model.posted + amountNano < 0, "refused although the balance covers it");
    }
  }

  #moveClock(): void {
    this.#clock.jumpWall(this.#random.between(-30, 30) * hourMs);
  }

  /** A release goes with the next batch, which nobody waits for; so this does. */
  async #compare(model: AccountModel): Promise<void> {
    const expected = {
      posted: model.isCredit ? model.posted : 0 - model.used,
      used: model.used,
      held: model.held,
    };
    for (let tries = 0; ; tries += 1) {
      const [state] = await this.#database.node.readAccounts([model.key.id]);
      assert(state != null);
      const { posted, used } = state.totals;
      const found = { posted, used, held: state.held };
      if (Bun.deepEquals(found, expected)) return;
      if (tries === 2_000) assert.deepEqual(found, expected);
      await Bun.sleep(1);
    }
  }

  #takeRunning() {
    const index = this.#random.between(0, this.#running.length - 1);
    return this.#running.splice(index, 1)[0];
  }
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test(
    `shared accounts agree with the model in ${replay ?? runs} random histories (PostgreSQL)`,
    async () => {
      const server = sharedPostgres();
      const url = server.url(await server.createDatabase());
      const location = { url, password: null, prepare: true };
      using folder = temporaryFolder();
      const store = await openStore({ location, clock: new FakeClock(), role: "gateway" });
      const events: unknown[] = [];
      const node = await joinStore({
        location,
        name: "simulation",
        version: "1.0.0",
        dir: folder.dir,
        report: (event) => events.push(event),
      });
      const seeds =
        replay === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [Number(replay)];
      const models: AccountModel[] = [];
      for (let from = 0; from < seeds.length; from += atOnce) {
        const group = seeds
          .slice(from, from + atOnce)
          .map((seed) => SharedSimulation.run({ store, node }, seed));
        models.push(...(await Promise.all(group)).flat());
      }
      expect(await audit(store)).toMatchObject({ accounts: models.length, differences: [] });
      expect((await store.load()).openHolds).toEqual([]);
      const groups = await store.summarizeUsage({ by: "key", sinceMs: 0 });
      const spent = new Map(groups.map((group) => [group.group, group.spendNano + group.spendTokens]));
      for (const { key, used } of models) expect([key.id, spent.get(key.id) ?? 0]).toEqual([key.id, used]);
      await node.leave();
      await store.close();
    },
    { timeout: 24 * 3_600_000 },
  );
