import type { SQLQueryBindings } from "bun:sqlite";
import { nextLoopIteration } from "../../../base/loop/pacer.ts";
import { startThread, threadSource } from "../../../base/threads/start-thread.ts";
import { WorkerThread } from "../../../base/threads/worker-thread.ts";
import type { Parameter, Work } from "../../query.ts";
import type { ComparedCosts, ComparedPrices, ComparisonQuery } from "../../reports.ts";
import { bindable, sqliteText } from "../queries.ts";
import type { ReportReader } from "./report-reader.ts";
import type { ReportQuestion, ReportRows } from "./thread-messages.ts";

const source = threadSource("store/sqlite/reports/thread.ts");

const closeTimeoutMs = 5_000;

/** A gateway's reports: they run on a thread, one statement or transaction after the other. */
export class ReportThread implements ReportReader {
  readonly #thread: WorkerThread<ReportQuestion, ReportRows>;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(dir: string, start = () => startThread(source, { smol: true })) {
    const lost = () => new Error("The report thread stopped. Retry.");
    this.#thread = new WorkerThread({ start, lost, opening: { kind: "open", dir } });
  }

  readonly read = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    this.#inTurn(() => this.#rows<Row>(text, parameters));

  readonly readTogether = <Result>(work: () => Work<Result>) =>
    this.#inTurn(async () => {
      await this.#thread.ask({ kind: "begin" });
      try {
        const running = work();
        let next = running.next([]);
        while (next.done !== true)
          next = running.next(await this.#rows(next.value.text, next.value.parameters));
        return next.value;
      } finally {
        await this.#thread.ask({ kind: "end" });
      }
    });

  readonly fold = async () => {
    await this.#inTurn(() => this.#thread.ask({ kind: "fold" }));
  };

  readonly compareCosts = ({ signal, ...query }: ComparisonQuery, prices: ComparedPrices) =>
    this.#inTurn(async () => {
      signal?.throwIfAborted();
      const { rows } = await this.#thread.ask({ kind: "compare", query, prices });
      // It is the one row of this message's answer.
      return rows[0] as ComparedCosts;
    });

  readonly findDamage = () =>
    this.#inTurn(async () => {
      const { rows } = await this.#thread.ask({ kind: "check" });
      // They are at most three sentences.
      return rows as readonly string[];
    });

  /** Lets the running report end for a while, so that nothing reads the ledger when it is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#last.then(async () => {
      if (this.#thread.isRunning) await this.#thread.ask({ kind: "close" }).catch(() => {});
    });
    await Promise.race([closed, Bun.sleep(closeTimeoutMs)]);
    this.#thread.stop();
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = async () => {
      if (this.#isClosed) throw new Error("The store is closed.");
      return work();
    };
    const result = this.#last.then(turn, turn);
    this.#last = result.catch(() => {});
    return result;
  }

  async #rows<Row>(text: string, parameters: readonly Parameter[]): Promise<Row[]> {
    const bound: SQLQueryBindings[] = parameters.map(bindable);
    const rows: unknown[] = [];
    let part = await this.#thread.ask({ kind: "rows", text: sqliteText(text), parameters: bound });
    for (;;) {
      for (const row of part.rows) rows.push(row);
      // What the rows look like is the statement's promise.
      if (part.isComplete) return rows as Row[];
      await nextLoopIteration();
      part = await this.#thread.ask({ kind: "more" });
    }
  }
}
