import type { Settings } from "../config/settings.ts";
import { createLogs, type Logs } from "../observe/log.ts";

/** The log's lines of what happens around a gateway: its start, its stop and restores. */
export class ServiceLog {
  readonly #logs: Logs;

  constructor(settings: Settings["log"]) {
    this.#logs = createLogs(settings);
    // Its lines are few, and the process can end after each: they are written at once.
    this.#logs.close();
  }

  info(text: string): void {
    this.#logs.log.info(text);
  }

  error(text: string): void {
    this.#logs.log.error(text);
  }

  configure(settings: Settings["log"]): void {
    this.#logs.configure(settings);
  }
}
