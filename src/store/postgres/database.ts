import type { Queries, Work } from "../query.ts";
import { StoreError } from "../store.ts";
import type { Parameter, PostgresClient, Query } from "./client.ts";
import { isRejected, isRolledBack, isTransient, isUnavailable } from "./errors.ts";

const firstPauseMs = 20;
const maxPauseMs = 250;
/** As long as a charge waits. */
const outageMs = 30_000;

/**
 * The store's access to PostgreSQL. Reads are retried while the server is briefly unavailable. A change is retried
 * only if the server confirmed a rollback: after a broken connection it may have been committed.
 */
export class Database implements Queries {
  readonly #client: PostgresClient;
  readonly #timeoutMs: number;

  constructor(client: PostgresClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs one statement that changes nothing. */
  readonly read: Query = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    this.#repeat(isTransient, () => this.#client.query<Row>(text, parameters));

  /** Several statements that see the same state. */
  readAll<Result>(work: (query: Query) => Promise<Result>, deadlineMs?: number): Promise<Result> {
    const begin = "ISOLATION LEVEL REPEATABLE READ READ ONLY";
    return this.#repeat(isTransient, () => this.#client.transaction(work, { begin, deadlineMs }));
  }

  readonly readTogether = <Result>(work: () => Work<Result>, deadlineMs?: number) =>
    this.readAll((query) => performed(work(), query), deadlineMs);

  /** Runs one statement, as a separate transaction. */
  readonly change: Query = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    this.#repeat(isRolledBack, () => this.#client.query<Row>(text, parameters));

  /** Runs an idempotent statement, so that it can be retried through an outage. */
  readonly changeSurely: Query = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    this.#repeat(isTransient, () => this.#client.query<Row>(text, parameters), outageMs);

  changeAll<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    return this.#repeat(isRolledBack, () => this.#client.transaction(work));
  }

  readonly changeTogether = <Result>(work: () => Work<Result>) =>
    this.changeAll((query) => performed(work(), query));

  /** Runs idempotent work, with retries. */
  repeatedly<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#repeat(isTransient, work);
  }

  async #repeat<Result>(
    isWorthIt: (error: unknown) => boolean,
    work: () => Promise<Result>,
    timeoutMs = this.#timeoutMs,
  ): Promise<Result> {
    const giveUpAtMs = performance.now() + timeoutMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        return await work();
      } catch (error) {
        if (!isWorthIt(error) || performance.now() >= giveUpAtMs) throw this.#explained(error);
      }
      await Bun.sleep(pauseMs);
    }
  }

  #explained(error: unknown): unknown {
    if (!isUnavailable(error) && !isRejected(error)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    const { name } = this.#client.address;
    const advice = reason.includes("startup parameter")
      ? ". Behind pgbouncer, [store] needs `prepare = false`."
      : "";
    return new StoreError("unreachable", `The database ${name} is unavailable: ${reason}${advice}`);
  }
}

/** Runs the work statement by statement. */
export async function performed<Result>(work: Work<Result>, query: Query): Promise<Result> {
  let next = work.next([]);
  while (next.done !== true) next = work.next(await query(next.value.text, next.value.parameters));
  return next.value;
}
