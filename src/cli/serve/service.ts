import { type RunningGateway, startGateway } from "../../app.ts";
import type { Settings } from "../../config/settings.ts";
import { applyStagedRestore, endStagedRestore, hasStagedRestore } from "../../store/sqlite/staged-restore.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { startWithKeys } from "./start.ts";

const lookEveryMs = 250;

/**
 * The gateway as its operator sees it: one service that goes on, even when a backup takes the place of its
 * data. For that the gateway is stopped as gently as ever, and another one starts at the same address.
 */
export class Service {
  readonly #terminal: Terminal;
  readonly #looking: ReturnType<typeof setInterval>;
  #settings: Settings;
  #running: RunningGateway;
  #restoring: Promise<void> | null = null;

  private constructor(settings: Settings, running: RunningGateway, terminal: Terminal) {
    this.#settings = settings;
    this.#running = running;
    this.#terminal = terminal;
    this.#looking = setInterval(() => this.#look(), lookEveryMs);
  }

  static async start(settings: Settings, json: boolean, terminal: Terminal): Promise<Service> {
    const { dataDir } = settings.server;
    putInPlace(dataDir, terminal);
    const running = await startWithKeys(settings, json, terminal);
    endStagedRestore(dataDir);
    return new Service(settings, running, terminal);
  }

  get url(): string {
    return this.#running.url;
  }

  reload(settings: Settings): void {
    this.#settings = settings;
    this.#running.reload(settings);
  }

  async stop(): Promise<void> {
    clearInterval(this.#looking);
    await this.#restoring;
    await this.#running.stop();
  }

  #look(): void {
    if (this.#restoring !== null || !hasStagedRestore(this.#settings.server.dataDir)) return;
    this.#restoring = this.#restore()
      .catch((error) => {
        this.#terminal.note(`${this.#terminal.noteStyle.bad("error:")} ${String(error)}`);
        process.exit(1);
      })
      .finally(() => {
        this.#restoring = null;
      });
  }

  async #restore(): Promise<void> {
    this.#terminal.note("a backup is to be restored: finishing what runs");
    const { server } = this.#settings;
    const port = Number(new URL(this.#running.url).port);
    await this.#running.stop();
    putInPlace(server.dataDir, this.#terminal);
    this.#running = await startGateway({ settings: { ...this.#settings, server: { ...server, port } } });
    endStagedRestore(server.dataDir);
    this.#terminal.note(`listening again on ${this.#running.url}`);
  }
}

/** A copy that cannot be put in place is told and left out: the gateway goes on with the data it has. */
function putInPlace(dataDir: string, { note, noteStyle }: Terminal): void {
  try {
    const restored = applyStagedRestore(dataDir);
    if (restored !== null) note(`restored; what was there before is kept as ${restored.replaced}`);
  } catch (error) {
    endStagedRestore(dataDir);
    note(`${noteStyle.bad("error:")} the backup was not restored: ${String(error)}`);
  }
}
