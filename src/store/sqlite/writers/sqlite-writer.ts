import type { Database } from "bun:sqlite";
import { assert, unreachable } from "../../../base/assert.ts";
import { utcDay } from "../../../base/clock.ts";
import { countedCharges } from "../../counted-charges.ts";
import { BatchFailure, type BatchWriter } from "../../journal/batch-writer.ts";
import type { ChargeEntry, HoldProgress, IssuedIds, JournalItem, StoredResponse } from "../../records.ts";
import {
  backgroundValues,
  endBackground,
  insertBackground,
  progressBackground,
} from "../../tables/background-table.ts";
import { returnToPresent } from "../../tables/clock-return.ts";
import { responseRow } from "../../written-rows.ts";
import { codeOf } from "../connection.ts";
import type { OpenFiles } from "../files/open-files.ts";
import type { Checkpointer } from "../log/checkpointer.ts";
import type { LogSync } from "../log/log-sync.ts";
import { sqliteStatements } from "../own-statements.ts";
import { failureReason } from "../problems.ts";
import { bindable, insertNamed, perform, sqliteText } from "../queries.ts";
import { AccountDeltas, KeySums } from "./account-deltas.ts";
import { CapWriter } from "./cap-writer.ts";
import { ChainWriter } from "./chain-writer.ts";
import {
  AttemptWriter,
  EntryWriter,
  OutcomeWriter,
  otherAccount,
  RatesWriter,
  rowAttempt,
  type WrittenKey,
} from "./entry-writer.ts";
import { TurnWriter } from "./turn-writer.ts";

/** Makes batches durable and keeps the log short. */
export interface WriterLog {
  readonly sync: Pick<LogSync, "check" | "sync" | "syncAlone">;
  readonly checkpoints: Pick<Checkpointer, "restarting" | "onCommit">;
  readonly files?: Pick<OpenFiles, "checkBeforeBatch">;
}

/**
 * Commits batches on the event loop without waiting for the disk: they are then in SQLite's log. A batch is durable,
 * and only then acknowledged, after a sync of the log that started after its commit.
 */
export class SqliteWriter implements BatchWriter {
  readonly #database: Database;
  readonly #log: WriterLog;
  readonly #rates: RatesWriter;
  readonly #chain: ChainWriter;
  readonly #entries: EntryWriter;
  readonly #deltas: AccountDeltas;
  readonly #outcomes: OutcomeWriter;
  readonly #keySums: KeySums;
  readonly #caps: CapWriter;
  readonly #attempts: AttemptWriter;
  readonly #turns: TurnWriter;
  readonly #keys = new Map<string, number>();
  readonly #accounts = new Map<string, Omit<WrittenKey, "no">>();
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #transaction: (items: readonly JournalItem[]) => void;
  #committedId = 0;
  #acknowledgedId = 0;

  constructor(database: Database, log: WriterLog) {
    this.#database = database;
    this.#log = log;
    this.#rates = new RatesWriter(database);
    this.#chain = new ChainWriter(database);
    this.#entries = new EntryWriter(database, this.#rates, this.#chain);
    this.#deltas = new AccountDeltas(database, this.#chain);
    this.#keySums = new KeySums(database);
    this.#outcomes = new OutcomeWriter(database);
    this.#caps = new CapWriter(database);
    this.#attempts = new AttemptWriter(database);
    this.#turns = new TurnWriter(database);
    this.#statements = statementsOf(database);
    const transaction = database.transaction((items: readonly JournalItem[]) => this.#apply(items));
    // Immediate: a deferred transaction fails at its first write if another process has written meanwhile.
    this.#transaction = (items) => transaction.immediate(items);
  }

  /** The newest entry that was acknowledged. Batches are written one at a time. */
  get acknowledgedId(): number {
    return this.#acknowledgedId;
  }

  write(items: readonly JournalItem[], isAlone = false): Promise<void> | void {
    const { sync, checkpoints, files } = this.#log;
    const { restarting } = checkpoints;
    if (restarting !== null) return restarting.then(() => this.write(items, isAlone));
    sync.check();
    files?.checkBeforeBatch();
    this.#acknowledgedId = this.#committedId;
    this.#run(items);
    this.#committedId = Math.max(this.#committedId, this.#entries.lastId);
    checkpoints.onCommit();
    return isAlone ? sync.syncAlone() : sync.sync();
  }

  #run(items: readonly JournalItem[]): void {
    try {
      assert(!this.#database.inTransaction, "a batch must be a transaction of its own");
      this.#transaction(items);
    } catch (error) {
      this.#entries.forget();
      this.#chain.forget();
      this.#turns.forget();
      this.#rates.forget();
      this.#deltas.forget();
      this.#keySums.forget();
      this.#caps.forget();
      this.#attempts.clear();
      // A transaction that could not be rolled back may still be committed.
      const reason = this.#database.inTransaction ? "damaged" : failureReason(codeOf(error));
      throw new BatchFailure(reason, String(error));
    }
  }

  #apply(items: readonly JournalItem[]): void {
    for (const item of items) {
      if (item.kind === "clock") perform(this.#database, returnToPresent(sqliteStatements, item.atMs));
    }
    this.#caps.begin();
    for (const item of items) {
      if (item.kind === "settle") this.#settle(item);
      else this.#applyOther(item);
    }
    this.#turns.makeRoom();
    this.#deltas.write();
    this.#chain.write();
    this.#keySums.write();
    this.#caps.write();
    this.#attempts.write();
    this.#attempts.clear();
  }

  #settle(item: JournalItem & { kind: "settle" }): void {
    const { charge, record, response, outcomeRecord, turns = [], hasRow, holdId, attempts = [] } = item;
    const key = this.#writtenKey(charge);
    const own = rowAttempt(item);
    const entryId = this.#entries.insert(key, charge, record, own);
    if (outcomeRecord !== null) this.#outcomes.insert(key.no, outcomeRecord, entryId);
    for (const counted of countedCharges(charge)) {
      this.#deltas.add(key, counted);
      this.#caps.add(key, counted);
    }
    this.#keySums.add(key.no, charge, record);
    if (own === null) for (const each of attempts) this.#attempts.add(utcDay(charge.atMs), each);
    if (hasRow) this.#statements.deleteHold.run(holdId);
    if (response !== null) this.#storeResponse(key.no, response);
    for (const turn of turns) this.#turns.insert(key.no, turn);
  }

  #storeResponse(keyNo: number, response: StoredResponse): void {
    const row = { key_no: keyNo, ...responseRow(response), body: response.body };
    if (this.#statements.insertResponse.run(row).changes > 0) return;
    this.#statements.deleteExpired.run(keyNo, response.route, response.idempotencyKey);
    this.#statements.insertResponse.run(row);
  }

  #applyOther(item: Exclude<JournalItem, { kind: "settle" }>): void {
    switch (item.kind) {
      case "progress":
        this.#progress(item.progress);
        return;
      case "release":
        this.#statements.deleteHold.run(item.holdId);
        return;
      case "issued":
        this.#issued(item.issued);
        return;
      case "callers":
        for (const { callerId, exchangeId, atMs } of item.callerIds) {
          this.#statements.insertCaller.run(callerId, exchangeId, atMs);
        }
        return;
      case "part":
        this.#statements.insertPart.run(item.part.recordingId, item.part.sequence, item.part.body);
        return;
      case "turn":
        this.#turns.insert(this.#keyNo(item.turn.keyId), item.turn);
        return;
      case "background":
        this.#turns.insert(this.#keyNo(item.turn.keyId), item.turn);
        if (item.response !== null) this.#storeResponse(this.#keyNo(item.turn.keyId), item.response);
        this.#database.query(sqliteText(insertBackground)).run(...backgroundValues(item.begun).map(bindable));
        return;
      case "background_progress":
        perform(this.#database, progressBackground(item.owned));
        return;
      case "background_end":
        if (!perform(this.#database, endBackground(item.end)) || item.end.turn === null) return;
        this.#turns.insert(this.#keyNo(item.end.turn.keyId), item.end.turn);
        return;
      case "clock":
        return;
      case "discard":
        this.#statements.deleteParts.run(item.recordingId);
        return;
      case "outcomes":
        for (const each of item.outcomes) this.#outcomes.insert(this.#keyNo(each.keyId), each, null);
        for (const attempt of item.attempts ?? []) this.#attempts.add(attempt.day, attempt);
        return;
      default:
        unreachable(item);
    }
  }

  #progress(progress: HoldProgress): void {
    const { no, accountNo } = this.#writtenKey(progress);
    const { quantities, served } = progress;
    this.#statements.upsertHold.run(
      progress.holdId,
      no,
      otherAccount(no, accountNo),
      progress.openedAtMs,
      progress.periodStartMs,
      progress.countedAtMs,
      progress.chargeSoFar,
      progress.model,
      progress.requestedModel,
      this.#rates.keep(progress.rates),
      quantities && JSON.stringify(quantities),
      served && JSON.stringify(served),
      progress.labels,
    );
  }

  #issued({ keyId, provider, credential, idKeys, tokens, atMs }: IssuedIds): void {
    const no = this.#keyNo(keyId);
    for (const idKey of idKeys)
      this.#statements.insertIssued.run(no, idKey, provider, credential, tokens, atMs);
  }

  #writtenKey({ keyId, accountId }: Pick<ChargeEntry, "keyId" | "accountId">): WrittenKey {
    const no = this.#keyNo(keyId);
    const { accountNo, isCredit } = this.#account(accountId);
    return { no, accountNo, isCredit };
  }

  #keyNo(keyId: string): number {
    return this.#keys.getOrInsertComputed(keyId, () => {
      const row = this.#statements.findKey.get(keyId);
      assert(row !== null, `there is no key ${keyId}`);
      return row.no;
    });
  }

  /** The cached part of an account never changes. */
  #account(accountId: string): Omit<WrittenKey, "no"> {
    return this.#accounts.getOrInsertComputed(accountId, () => {
      const row = this.#statements.findAccount.get(accountId);
      assert(row !== null, `there is no account ${accountId}`);
      return { accountNo: row.no, isCredit: row.isCredit === 1 };
    });
  }
}

/** Prepared once: the database caches few. */
const statementsOf = (database: Database) => ({
  findKey: database.query<{ no: number }, [string]>("SELECT no FROM keys WHERE id = ?"),
  findAccount: database.query<{ no: number; isCredit: number }, [string]>(
    "SELECT no, mode = 'credit' AS isCredit FROM accounts WHERE id = ?",
  ),
  upsertHold: database.query(upsertHold),
  deleteHold: database.query("DELETE FROM holds WHERE id = ?"),
  insertResponse: database.query(insertResponse),
  /** Deletes an expired response that is not pruned yet; a valid one would have been replayed. */
  deleteExpired: database.query(
    "DELETE FROM responses WHERE key_no = ? AND route = ? AND idempotency_key = ?",
  ),
  insertIssued: database.query(insertIssued),
  insertCaller: database.query("INSERT INTO caller_ids (caller_id, exchange_id, at_ms) VALUES (?, ?, ?)"),
  insertPart: database.query("INSERT INTO response_parts (recording_id, sequence, body) VALUES (?, ?, ?)"),
  deleteParts: database.query("DELETE FROM response_parts WHERE recording_id = ?"),
});

const upsertHold = `
INSERT INTO holds (id, key_no, account_no, opened_at_ms, period_start_ms, counted_at_ms, charge_so_far, model,
  asked_model, rates_id, quantities, served, labels)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET charge_so_far = excluded.charge_so_far, rates_id = excluded.rates_id,
  quantities = excluded.quantities, served = excluded.served WHERE excluded.charge_so_far > charge_so_far`;

/** An id that is issued again becomes the newest, so that it is stored as long as a new one. */
const insertIssued = `
INSERT OR REPLACE INTO issued_ids (key_no, id_key, provider, credential, tokens, issued_at_ms)
VALUES (?, ?, ?, ?, ?, ?)`;

const insertResponse = `${insertNamed("responses", [
  ...["key_no", "route", "idempotency_key", "body_hash", "status", "headers", "stored_at_ms", "recording_id"],
  ...["parts", "body", "bytes"],
])} ON CONFLICT DO NOTHING`;
