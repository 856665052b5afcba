import { expect, test } from "bun:test";
import { strict as assert } from "node:assert";
import { GatewayError } from "../../src/base/errors.ts";
import { newId } from "../../src/base/id.ts";
import type { Hold } from "../../src/ledger/accounts.ts";
import { audit } from "../../src/ledger/audit.ts";
import { SharedAccounts } from "../../src/ledger/shared-accounts.ts";
import { moneyRules } from "../../src/ledger/shared-batch.ts";
import type { StoreNode } from "../../src/store/node.ts";
import { joinStore, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { settlement } from "../ledger/fixtures.ts";
import { noValueCaps } from "../ledger/no-value-caps.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { runIn, trustNodeClocks } from "../store/postgres/fixtures.ts";
import { FakeClock } from "../support/clock.ts";
import { hasPostgres, sharedPostgres, withoutPostgres } from "../support/postgres.ts";
import { summarizeUsage } from "../support/usage.ts";
import { AccountsModel } from "./accounts-model.ts";
import { checkRefusal } from "./checks.ts";
import { costOf, learn, models, operate, populate, replacementOf, someLabels, waivedOf } from "./operator.ts";
import { SeededRandom } from "./random.ts";

/** `SEED=n` replays one run; `SLUICE_SOAK=1` runs through the night. */
const replay = process.env["SEED"];
const runs = process.env["SLUICE_SOAK"] === "1" ? 50_000 : 100;
const steps = 40;
/** Their holds and charges share batches, as for real requests. */
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
  readonly #model: AccountsModel;
  readonly #accounts: SharedAccounts;
  readonly #running: Hold[] = [];
  #latestMs = this.#clock.wallMs();

  private constructor(database: Database, random: SeededRandom) {
    this.#database = database;
    this.#random = random;
    this.#model = new AccountsModel();
    this.#accounts = new SharedAccounts({ node: database.node, clock: this.#clock, keys: [], valueCaps: [] });
  }

  static async run(database: Database, seed: number): Promise<AccountsModel> {
    const simulation = new SharedSimulation(database, new SeededRandom(seed));
    await populate(database.store, simulation.#model, simulation.#clock.wallMs());
    simulation.#tell();
    try {
      for (let step = 0; step < steps; step += 1) await simulation.#step();
      while (simulation.#running.length > 0) await simulation.#settle();
      assert.equal(simulation.#accounts.openHolds, 0);
      return simulation.#model;
    } catch (error) {
      throw new Error(`The simulation failed. Replay it with SEED=${seed}.`, { cause: error });
    }
  }

  async #step(): Promise<void> {
    const choice = this.#random.between(1, 100);
    if (choice <= 40) await this.#hold();
    else if (choice <= 45) await this.#replace();
    else if (choice <= 70) await this.#settle();
    else if (choice <= 80) await this.#release();
    else if (choice <= 92) await this.#operate();
    else this.#moveClock();
  }

  async #hold(): Promise<void> {
    const key = this.#random.pick([...this.#model.keys.values()]);
    const model = this.#random.pick(models);
    assert(key !== undefined && model !== undefined);
    const amount = this.#random.between(0, 400);
    const spender = { keyId: key.id, accountId: key.accountId, model, labels: someLabels(this.#random) };
    const expected = this.#model.ask(spender, amount, this.#clock.wallMs());
    const request = {
      keyId: key.id,
      exchangeId: newId("req_"),
      model,
      requestedModel: null,
      labels: spender.labels,
      amount,
    };
    try {
      const hold = await this.#accounts.hold(request);
      assert.equal(null, expected, "admitted what had to be refused");
      this.#model.open(hold);
      this.#running.push(hold);
      const remaining = this.#model.remaining(hold);
      // A bound without a limit has more than a double can count.
      if (remaining < Infinity) assert.equal(this.#accounts.remaining(hold), remaining);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      checkRefusal(error, expected);
    }
  }

  async #replace(): Promise<void> {
    const hold = this.#random.pick(this.#running);
    if (hold === undefined) return;
    const by = replacementOf(this.#random, hold);
    const spender = { keyId: hold.keyId, accountId: hold.accountId, ...by };
    const expected = this.#model.askInstead(hold, spender, by.amount, this.#clock.wallMs());
    try {
      await this.#accounts.replace(hold, by);
      assert.equal(null, expected, "replaced what had to stay");
      this.#model.open(hold);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      checkRefusal(error, expected);
    }
  }

  async #settle(): Promise<void> {
    const hold = this.#takeRunning();
    if (hold === undefined) return;
    const cost = costOf(this.#random, hold.amount);
    const waived = waivedOf(this.#random, cost);
    const atMs = this.#clock.wallMs();
    const { charged } = this.#model.settle(hold, cost, waived, atMs);
    const settled = await this.#accounts.settle(hold, settlement(hold, cost, { waived }, { atMs }));
    assert.deepEqual(settled, { charged, overrun: cost - charged });
    assert.equal(hold.charged, charged);
    // A second end finds the hold closed, and changes nothing.
    assert.equal(this.#accounts.release(hold), false);
    assert.equal(await this.#accounts.settle(hold, settlement(hold, 1)), null);
    await this.#compare(hold.keyId);
  }

  async #release(): Promise<void> {
    const hold = this.#takeRunning();
    if (hold === undefined) return;
    assert.equal(this.#accounts.release(hold), true);
    this.#model.release(hold.id);
    await this.#compare(hold.keyId);
  }

  /** Everybody knows of it at once. */
  async #operate(): Promise<void> {
    const { store } = this.#database;
    const entry = await operate(this.#random, store, this.#model, this.#clock.wallMs());
    await learn(store, this.#model, this.#model.keys.keys());
    if (entry !== null) this.#model.apply({ accounts: [], keys: [], entries: [entry] });
    this.#tell();
  }

  #tell(): void {
    this.#accounts.apply({ keys: [...this.#model.keys.values()], valueCaps: noValueCaps });
  }

  /** At most an hour behind what it has shown: further back, bounds would return to the present. */
  #moveClock(): void {
    const nowMs = this.#clock.wallMs();
    const nextMs = Math.max(nowMs + this.#random.between(-30, 30) * hourMs, this.#latestMs - hourMs);
    this.#latestMs = Math.max(this.#latestMs, nextMs);
    this.#clock.jumpWall(nextMs - nowMs);
  }

  /** A release goes with the next batch, which is not awaited; so this waits for it. */
  async #compare(keyId: string): Promise<void> {
    const accountId = this.#model.keys.get(keyId)?.accountId ?? "";
    const account = this.#model.account(accountId);
    const caps = [...this.#model.caps].toSorted((one, other) => one.record.no - other.record.no);
    const expected = {
      posted: account.isCredit ? account.posted : 0 - account.used,
      used: account.used,
      held: this.#model.heldOf(account),
      caps: [accountId, keyId].flatMap((ownerId) =>
        caps
          .filter((cap) => cap.ownerId === ownerId)
          .map((cap) => ({ limit: cap.limit, used: cap.used, held: this.#model.heldOf(cap) })),
      ),
    };
    for (let tries = 0; ; tries += 1) {
      const found = await this.#found(keyId);
      if (Bun.deepEquals(found, expected)) return;
      if (tries === 2_000) assert.deepEqual(found, expected);
      await Bun.sleep(1);
    }
  }

  async #found(keyId: string) {
    const [state] = await this.#database.node.readAccounts([keyId]);
    assert(state != null);
    const { posted, used } = state.totals;
    const caps = [...state.accountCaps, ...state.keyCaps].map((cap) => ({
      limit: cap.limit + (cap.extraPeriodMs === cap.periodStartMs ? cap.extra : 0),
      used: cap.used,
      held: cap.held,
    }));
    return { posted, used, held: state.held, caps };
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
      await runIn(location, trustNodeClocks);
      const events: unknown[] = [];
      const node = await joinStore({
        location,
        name: "simulation",
        version: "1.0.0",
        dir: folder.dir,
        rules: moneyRules,
        report: (event) => events.push(event),
      });
      const seeds =
        replay === undefined ? Array.from({ length: runs }, (_, index) => index + 1) : [Number(replay)];
      const histories: AccountsModel[] = [];
      for (let from = 0; from < seeds.length; from += atOnce) {
        const group = seeds
          .slice(from, from + atOnce)
          .map((seed) => SharedSimulation.run({ store, node }, seed));
        histories.push(...(await Promise.all(group)));
      }
      expect((await audit(store)).differences).toEqual([]);
      expect((await store.load()).openHolds).toEqual([]);
      const spent = (await summarizeUsage(store, { by: "key", sinceMs: 0 })).reduce(
        (sum, group) => sum + group.spendNano + group.spendTokens,
        0,
      );
      const used = histories.flatMap(({ accounts }) => [...accounts.values()]).map((account) => account.used);
      expect(used.reduce((sum, amount) => sum + amount, 0)).toBe(spent);
      await node.leave();
      await store.close();
    },
    { timeout: 24 * 3_600_000 },
  );
