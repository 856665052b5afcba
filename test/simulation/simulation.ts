import { strict as assert } from "node:assert";
import { GatewayError } from "../../src/base/errors.ts";
import type { Hold } from "../../src/ledger/accounts.ts";
import type { Store } from "../../src/store/store.ts";
import { settlement } from "../ledger/fixtures.ts";
import type { JournaledDatabase } from "../store/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { costing } from "../support/rates.ts";
import { AccountsModel } from "./accounts-model.ts";
import { checkDatabase, checkExchanges, checkKeys, checkMemory, checkRefusal } from "./checks.ts";
import { type GatewayLife, startGateway } from "./gateway.ts";
import { costOf, models, operate, populate, replacementOf, someLabels, waivedOf } from "./operator.ts";
import type { SeededRandom } from "./random.ts";

/** What is known of an exchange: whether it still runs, what it was charged, and whether that is on disk for certain. */
export interface Exchange {
  readonly hold: Hold;
  produced: number;
  charged: number | null;
  owed: number;
  isDurable: boolean;
}

const hourMs = 3_600_000;

/**
 * A gateway's ledger over the real store, an operator at the command line, and a random history of both with clock jumps, locks
 * and crashes. After every step the ledger must agree with the model. Whenever nothing is in flight, and after every crash, the
 * database must agree with both.
 */
export class Simulation {
  readonly #random: SeededRandom;
  readonly #database: JournaledDatabase;
  readonly #clock: FakeClock;
  readonly #operator: Store;
  readonly #model: AccountsModel;
  readonly #exchanges: Exchange[] = [];
  #running: Exchange[] = [];
  #waiting: Promise<unknown>[] = [];
  #life: GatewayLife;
  /** Ids decide in which order holds are recovered. */
  #exchangeNo = 0;

  private constructor(parts: {
    random: SeededRandom;
    database: JournaledDatabase;
    clock: FakeClock;
    operator: Store;
    model: AccountsModel;
    life: GatewayLife;
  }) {
    this.#random = parts.random;
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#operator = parts.operator;
    this.#model = parts.model;
    this.#life = parts.life;
  }

  /** Returns what was charged, to be compared with another run. */
  static async run(
    random: SeededRandom,
    database: JournaledDatabase,
    steps: number,
  ): Promise<readonly string[]> {
    const clock = new FakeClock("2026-03-10T20:00:00Z");
    const operator = await database.openOperator(clock);
    const model = new AccountsModel();
    await populate(operator, model, clock.wallMs());
    const life = await startGateway(database, clock, (changes) => model.apply(changes));
    const simulation = new Simulation({ random, database, clock, operator, model, life });
    try {
      for (let step = 0; step < steps; step += 1) await simulation.#step();
      await simulation.#finish();
      const entries = await operator.listEntries({ afterId: 0, limit: 1_000_000 });
      return entries.map(({ kind, exchangeId, amount, atMs }) => `${kind} ${exchangeId} ${amount} ${atMs}`);
    } finally {
      await simulation.#life.store.close();
      await operator.close();
    }
  }

  async #step(): Promise<void> {
    const choice = this.#random.between(1, 100);
    if (choice <= 26) this.#hold();
    else if (choice <= 30) this.#replace();
    else if (choice <= 45) this.#progress();
    else if (choice <= 65) this.#settle();
    else if (choice <= 72) this.#release();
    else if (choice <= 75) this.#endTwice();
    else if (choice <= 80) this.#life.ledger.journalProgress();
    else if (choice <= 85) await this.#operate();
    else if (choice <= 89) await this.#refresh();
    else if (choice <= 92) await this.#moveClock();
    else if (choice <= 94) await this.#lock();
    else if (choice <= 97) await this.#becomeQuiet();
    else if (choice <= 98) await this.#turnOfTheEventLoop();
    else await this.#crash();
    checkMemory(this.#life.ledger, this.#model, this.#clock.wallMs());
  }

  #hold(): void {
    const key = this.#random.pick([...this.#model.keys.values()]);
    const model = this.#random.pick(models);
    assert(key !== undefined && model !== undefined);
    const amount = this.#random.between(0, 400);
    const spender = { keyId: key.id, accountId: key.accountId, model, labels: someLabels(this.#random) };
    const expected = this.#model.ask(spender, amount, this.#clock.wallMs());
    try {
      const request = {
        keyId: key.id,
        exchangeId: `req_${String(++this.#exchangeNo).padStart(6, "0")}`,
        model,
        requestedModel: null,
        labels: spender.labels,
        amount,
      };
      const hold = this.#life.ledger.hold(request);
      assert.equal(null, expected, "admitted what had to be refused");
      this.#model.open(hold);
      const exchange = { hold, produced: 0, charged: null, owed: 0, isDurable: false };
      this.#running.push(exchange);
      this.#exchanges.push(exchange);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      checkRefusal(error, expected);
    }
  }

  #replace(): void {
    const exchange = this.#random.pick(this.#running.filter(({ produced }) => produced === 0));
    if (exchange === undefined) return;
    const { hold } = exchange;
    const by = replacementOf(this.#random, hold);
    const spender = { keyId: hold.keyId, accountId: hold.accountId, ...by };
    const expected = this.#model.askInstead(hold, spender, by.amount, this.#clock.wallMs());
    try {
      this.#life.ledger.replace(hold, by);
      assert.equal(null, expected, "replaced what had to stay");
      this.#model.open(hold);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      checkRefusal(error, expected);
    }
  }

  #progress(): void {
    const exchange = this.#random.pick(this.#running);
    if (exchange === undefined) return;
    exchange.produced += this.#random.between(0, 40);
    this.#life.ledger.progress(exchange.hold, costing(exchange.produced));
  }

  #settle(): void {
    const exchange = this.#takeRunning();
    if (exchange === undefined) return;
    const { hold } = exchange;
    const cost = costOf(this.#random, hold.amount);
    const isCancelled = this.#random.chance(0.3);
    const ending = isCancelled ? ({ outcome: "cancelled", record: null, basis: "estimated" } as const) : {};
    const atMs = this.#clock.wallMs();
    const waived = waivedOf(this.#random, cost);
    const settling = this.#life.ledger.settle(hold, settlement(hold, cost, { ...ending, waived }, { atMs }));
    const { charged, owed } = this.#model.settle(hold, cost, waived, atMs);
    exchange.charged = charged;
    exchange.owed = owed;
    const known = settling.then((settled) => {
      assert.deepEqual([settled?.charged, settled?.overrun], [charged, cost - charged]);
      exchange.isDurable = true;
    });
    this.#waiting.push(ignoringDeath(known));
  }

  #release(): void {
    const exchange = this.#takeRunning();
    if (exchange === undefined) return;
    assert.equal(this.#life.ledger.release(exchange.hold), true);
    this.#model.release(exchange.hold.id);
  }

  /** A second end must find the hold closed, and change nothing. */
  #endTwice(): void {
    const ended = this.#random.pick(this.#exchanges.filter(({ hold }) => hold.state !== "open"));
    if (ended === undefined) return;
    assert.equal(this.#life.ledger.release(ended.hold), false);
    const second = this.#life.ledger.settle(ended.hold, settlement(ended.hold, 1));
    this.#waiting.push(second.then((settled) => assert.equal(settled, null)));
  }

  /** The gateway, and the model with it, hears of it at its next look. */
  async #operate(): Promise<void> {
    await operate(this.#random, this.#operator, this.#model, this.#clock.wallMs());
    // Its change waits for the disk, for as many turns of the event loop as that takes: what was to be written is written by now.
    await this.#life.store.commit([]);
  }

  async #refresh(): Promise<void> {
    await this.#life.watcher.refresh();
    await this.#turnOfTheEventLoop();
  }

  /** Where it has been ahead, bounds come back, and what runs counts from now on. */
  async #moveClock(): Promise<void> {
    const hours = this.#random.between(-30, 30);
    if (hours > 0 && this.#random.chance(0.5)) this.#clock.advance(hours * hourMs);
    else this.#clock.jumpWall(hours * hourMs);
    if (hours >= 0) return;
    await this.#becomeQuiet();
    if (!(await this.#life.ledger.returnToPresent())) return;
    await this.#life.watcher.refresh();
    this.#model.return(await this.#operator.load());
    await checkDatabase(this.#operator, this.#model);
  }

  /** Another process has the database locked for a moment: what is settled meanwhile is written after it. */
  async #lock(): Promise<void> {
    this.#life.writer.lock();
    for (let settles = this.#random.between(0, 3); settles > 0; settles -= 1) this.#settle();
    await this.#turnOfTheEventLoop();
    this.#life.writer.unlock();
    await this.#life.store.commit([]);
  }

  async #turnOfTheEventLoop(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Everything that waits is written, and every change has been heard of: now all three must agree. */
  async #becomeQuiet(): Promise<void> {
    this.#life.writer.unlock();
    await Promise.all(this.#waiting);
    this.#waiting = [];
    await this.#life.store.commit([]);
    await this.#life.watcher.refresh();
    await checkDatabase(this.#operator, this.#model);
    await checkKeys(this.#life.ledger, this.#operator, this.#clock.wallMs());
  }

  async #crash(): Promise<void> {
    this.#life.ledger.journalProgress();
    this.#life.writer.dieAt(this.#random.pick(["before", "after"] as const) ?? "before");
    await this.#life.store.commit([]).catch(() => {});
    await Promise.all(this.#waiting);
    await this.#life.store.close();
    this.#waiting = [];
    this.#running = [];
    const { openHolds } = await this.#operator.load();
    // The next process may start under another clock.
    if (this.#random.chance(0.3)) this.#clock.jumpWall(this.#random.between(-30, -2) * hourMs);
    this.#life = await startGateway(this.#database, this.#clock, (changes) => this.#model.apply(changes));
    // What caps were raised by may have come back with them.
    await this.#life.watcher.refresh();
    await checkExchanges(this.#operator, this.#exchanges, openHolds);
    this.#exchanges.length = 0;
    const entries = await this.#operator.listEntries({ afterId: 0, limit: 1_000_000 });
    const charges = entries.filter(
      ({ kind, amount }) => kind === "charge" || (kind === "overrun" && amount < 0),
    );
    const now = await this.#operator.load();
    this.#model.restart(now, charges, openHolds);
    this.#model.return(now);
    await checkDatabase(this.#operator, this.#model);
  }

  async #finish(): Promise<void> {
    while (this.#running.length > 0) {
      if (this.#random.chance(0.5)) this.#settle();
      else this.#release();
    }
    await this.#becomeQuiet();
    assert.equal(this.#life.ledger.openHolds, 0);
    await checkExchanges(this.#operator, this.#exchanges, []);
    assert.deepEqual((await this.#operator.load()).openHolds, []);
  }

  #takeRunning(): Exchange | undefined {
    const exchange = this.#random.pick(this.#running);
    if (exchange !== undefined) this.#running = this.#running.filter((other) => other !== exchange);
    return exchange;
  }
}

/** Who waits when the process dies never hears of it; an assertion that failed must still be heard. */
async function ignoringDeath(settling: Promise<unknown>): Promise<void> {
  try {
    await settling;
  } catch (error) {
    const cause = error instanceof GatewayError ? error.cause : error;
    if (!(cause instanceof Error) || cause.message !== "the process is dead") throw error;
  }
}
