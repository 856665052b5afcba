import { type RunningGateway, startGateway } from "../../app/start.ts";
import { systemClock } from "../../base/clock.ts";
import { CannotListen } from "../../base/open-port.ts";
import type { ConfigOnDisk } from "../../config/on-disk.ts";
import type { Settings } from "../../config/settings.ts";
import { type FolderMaintenance, type Restored, StoreRefusal } from "../../store/store.ts";
import { withFolder } from "../open-store.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { writeFilesForCommands } from "./files-for-commands.ts";
import { collectWhenIdle } from "./idle-collection.ts";
import { startWithKeys } from "./start.ts";

const lookEveryMs = 250;
const startAgainEveryMs = 1_000;

/**
 * The service that the operator sees. It keeps running when a backup replaces its data: the gateway is drained and
 * stopped, and a new one starts at the same address.
 */
export class Service {
  readonly #terminal: Terminal;
  readonly #configOnDisk: ConfigOnDisk;
  readonly #looking: ReturnType<typeof setInterval> | null;
  readonly #collecting: ReturnType<typeof setInterval>;
  #settings: Settings;
  #url: string;
  /** Null while a backup is put in place. */
  #running: RunningGateway | null;
  #restoring: Promise<void> | null = null;
  #isStopping = false;
  #lastTold = "";

  /** `folder` is null for a database, which is restored by its own means. */
  private constructor(
    settings: Settings,
    configOnDisk: ConfigOnDisk,
    folder: FolderMaintenance | null,
    running: RunningGateway,
    terminal: Terminal,
  ) {
    this.#settings = settings;
    this.#configOnDisk = configOnDisk;
    this.#running = running;
    this.#url = running.url;
    this.#terminal = terminal;
    this.#looking = folder === null ? null : setInterval(() => this.#look(folder), lookEveryMs);
    this.#collecting = collectWhenIdle(() => this.#running?.gateway.ongoing ?? null);
  }

  static async start(
    settings: Settings,
    configOnDisk: ConfigOnDisk,
    json: boolean,
    terminal: Terminal,
  ): Promise<Service> {
    const start = () => startWithKeys({ settings, configOnDisk }, json, terminal);
    if (settings.store !== null) return new Service(settings, configOnDisk, null, await start(), terminal);
    const folder = await withFolder(settings.server.dataDir, async (found) => {
      await putInPlace(found, terminal);
      const finished = await found.finishRestore(systemClock.wallMs());
      if (finished !== null) terminal.note(finished);
      return found;
    });
    const running = await start();
    folder.endStagedRestore();
    return new Service(settings, configOnDisk, folder, running, terminal);
  }

  get url(): string {
    return this.#url;
  }

  /** Returns the settings that did not take effect. During a restore it waits for the next gateway. */
  async reload(settings: Settings): Promise<readonly string[]> {
    await this.#restoring;
    if (this.#running === null) return [];
    const { settings: inForce, notInForce } = await this.#running.reload(settings);
    this.#settings = inForce;
    writeFilesForCommands(inForce, this.#terminal);
    return notInForce;
  }

  reportRefusedReload(reason: string): void {
    this.#running?.reportRefusedReload(reason);
  }

  /** Returns what could not be written to disk, in sentences. */
  async stop(): Promise<readonly string[]> {
    this.#isStopping = true;
    if (this.#looking !== null) clearInterval(this.#looking);
    clearInterval(this.#collecting);
    await this.#restoring;
    return (await this.#running?.stop()) ?? [];
  }

  describeLosses(): readonly string[] {
    return this.#running?.describeLosses() ?? [];
  }

  #look(folder: FolderMaintenance): void {
    if (this.#restoring !== null || !this.#isRestoreWanted(folder)) return;
    this.#restoring = this.#restore(folder)
      .catch((error) => {
        this.#terminal.note(`${this.#terminal.noteStyle.bad("error:")} ${reasonOf(error)}`);
        process.exit(1);
      })
      .finally(() => {
        this.#restoring = null;
      });
  }

  /** A folder that cannot be read now (no file descriptor, no mount) is read again at the next check. */
  #isRestoreWanted(folder: FolderMaintenance): boolean {
    try {
      return folder.hasStagedRestore();
    } catch (error) {
      this.#tellOnce(`cannot look for a backup to restore: ${reasonOf(error)}`);
      return false;
    }
  }

  async #restore(folder: FolderMaintenance): Promise<void> {
    try {
      await folder.awaitUnlocked();
    } catch (error) {
      // The gateway keeps running. The copy stays in place, and the next check tries again.
      this.#tellOnce(`a backup is to be restored, but not yet: ${reasonOf(error)}`);
      return;
    }
    this.#terminal.note("a backup is to be restored: finishing what runs");
    const losses = (await this.#running?.stop()) ?? [];
    for (const loss of losses) this.#terminal.note(`${this.#terminal.noteStyle.bad("error:")} ${loss}`);
    this.#running = null;
    const restored = await putInPlace(folder, this.#terminal);
    this.#running = await this.#startAgain(folder, restored);
    if (this.#running === null) return;
    folder.endStagedRestore();
    this.#terminal.note(`listening again on ${this.#url}`);
  }

  /** Null if the service was stopped meanwhile; the next start continues from here. */
  async #startAgain(folder: FolderMaintenance, restored: Restored | null): Promise<RunningGateway | null> {
    const { server } = this.#settings;
    const port = Number(new URL(this.#url).port);
    let replaced = restored?.replaced ?? null;
    while (!this.#isStopping) {
      try {
        const settings = { ...this.#settings, server: { ...server, port } };
        return await startGateway({ settings, configOnDisk: this.#configOnDisk });
      } catch (error) {
        if (!mayPass(error)) {
          if (replaced === null) throw error;
          await this.#goBack(folder, replaced, error);
          replaced = null;
          continue;
        }
        this.#tellOnce(`not listening yet: ${reasonOf(error)}`);
      }
      await Bun.sleep(startAgainEveryMs);
    }
    return null;
  }

  /** The restored data is unusable: the gateway continues with the old data. */
  async #goBack(folder: FolderMaintenance, replaced: string, error: unknown): Promise<void> {
    const refusal = `the backup cannot be used: ${reasonOf(error)}`;
    this.#terminal.note(`${this.#terminal.noteStyle.bad("error:")} ${refusal}`);
    await folder.restore(replaced, systemClock.wallMs());
    folder.endStagedRestore(refusal);
  }

  #tellOnce(text: string): void {
    if (text !== this.#lastTold) this.#terminal.note(text);
    this.#lastTold = text;
  }
}

/** A copy that cannot be put in place is reported and skipped: the gateway continues with its data. */
async function putInPlace(
  folder: FolderMaintenance,
  { note, noteStyle }: Terminal,
): Promise<Restored | null> {
  try {
    const restored = await folder.applyStagedRestore();
    if (restored === null) return null;
    const kept = restored.replaced === null ? "" : `; what was there before is kept as ${restored.replaced}`;
    note(`restored${kept}`);
    return restored;
  } catch (error) {
    folder.endStagedRestore(reasonOf(error));
    note(`${noteStyle.bad("error:")} the backup was not restored: ${reasonOf(error)}`);
    return null;
  }
}

/** Another process has the database, the disk or the port at the moment. */
function mayPass(error: unknown): boolean {
  if (error instanceof StoreRefusal) return ["locked", "disk_full", "in_use"].includes(error.reason);
  return error instanceof CannotListen;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
