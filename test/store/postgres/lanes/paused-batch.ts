import type { MoneyConnection } from "../../../../src/store/postgres/lanes/money-batch.ts";
import { type clientOf, connectionOf } from "../fixtures.ts";

/** A connection whose next batch stops between its lock and its write. */
export class PausedBatch {
  readonly connection: MoneyConnection;
  readonly #locked = Promise.withResolvers<void>();
  readonly #resumed = Promise.withResolvers<void>();

  /** With `isPatient` the transaction may be idle for as long as the test needs. */
  constructor(client: ReturnType<typeof clientOf>, { isPatient = false } = {}) {
    const script = async <Row>(text: string): Promise<Row[]> => {
      if (text.startsWith("SELECT sluice_write_batch")) {
        if (isPatient) await client.script("SET LOCAL idle_in_transaction_session_timeout = 0");
        this.#locked.resolve();
        await this.#resumed.promise;
      }
      return client.script<Row>(text);
    };
    this.connection = { ...connectionOf(client), client: { script } };
  }

  /** Resolves when the batch has its locks. */
  get locked(): Promise<void> {
    return this.#locked.promise;
  }

  resume(): void {
    this.#resumed.resolve();
  }
}
