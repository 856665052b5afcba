import type { ServiceLog } from "../../app/service-log.ts";
import { type RunningGateway, startGateway } from "../../app/start.ts";
import { readStoredPrices } from "../../app/stored-prices.ts";
import { systemClock } from "../../base/clock.ts";
import { collectWhenIdle } from "../../base/system/idle-collection.ts";
import { CannotListen } from "../../base/system/open-port.ts";
import type { StoredPrices } from "../../config/catalog/stored-prices.ts";
import type { ConfigOnDisk, ReloadConsent, ReloadResult } from "../../config/on-disk.ts";
import { newSecretFiles } from "../../config/reload.ts";
import type { Settings } from "../../config/settings.ts";
import { type FolderMaintenance, type RestoreResult, StoreError } from "../../store/store.ts";
import { withFolder } from "../open-store.ts";
import { greet } from "../operations/socket.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { servedAddress, servedPid, writeFilesForCommands } from "./files-for-commands.ts";
import { showAdminToken, startWithKeys } from "./start.ts";

const pollEveryMs = 1_000;
const startAgainEveryMs = 1_000;

interface ServiceOptions {
  readonly settings: Settings;
  readonly configOnDisk: ConfigOnDisk;
  readonly json: boolean;
  /** Begins with an empty ledger where one was lost. */
  readonly newLedger: boolean;
  /** Its notes are lines of the log. */
  readonly terminal: Terminal;
  readonly log: Pick<ServiceLog, "configure">;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { settings, configOnDisk, json, newLedger, terminal } = options;
  if (newLedger) await beginNewLedger(settings, terminal);
  // PostgreSQL is restored by its own tools.
  const folder = settings.store === null ? await checkedFolder(settings, terminal) : null;
  const running = await whenFolderIsFree(settings.server.data, () =>
    startWithKeys({ settings, configOnDisk }, json, terminal),
  );
  folder?.endStagedRestore();
  return new Service(options, running, folder);
}

/**
 * Keeps the service running while a backup replaces its data: the gateway is drained and stopped, and a new one starts
 * at the same address.
 */
export class Service {
  readonly url: string;
  /** The settings at the start. */
  readonly settings: Settings;
  readonly #configOnDisk: ConfigOnDisk;
  readonly #terminal: Terminal;
  readonly #log: ServiceOptions["log"];
  readonly #json: boolean;
  /** Null while a backup is restored. */
  #running: RunningGateway | null;
  #current: Settings;
  #restoring: Promise<void> | null = null;
  #isStopping = false;
  #lastNote = "";
  readonly #looking: Timer | null;
  readonly #collecting: Timer;

  constructor(
    { configOnDisk, json, terminal, log }: ServiceOptions,
    running: RunningGateway,
    folder: FolderMaintenance | null,
  ) {
    this.url = running.url;
    this.settings = running.gateway.configured.settings;
    this.#configOnDisk = configOnDisk;
    this.#terminal = terminal;
    this.#log = log;
    this.#json = json;
    this.#running = running;
    this.#current = this.settings;
    this.#looking = folder === null ? null : setInterval(() => this.#look(folder), pollEveryMs);
    this.#collecting = collectWhenIdle(() => this.#running?.gateway.ongoing ?? null);
  }

  /** During a restore it waits for the next gateway. */
  async reload(next: Settings, consent: ReloadConsent): Promise<ReloadResult> {
    await this.#restoring;
    if (this.#running === null) return { needsRestart: [], newSecrets: [] };
    const newSecrets = newSecretFiles(this.#current, next);
    const { settings, needsRestart } = await this.#running.reload(next, consent);
    this.#current = settings;
    this.#log.configure(settings.log);
    writeFilesForCommands(settings, this.#terminal, this.url);
    return { needsRestart, newSecrets };
  }

  async storedPrices(): Promise<StoredPrices | null> {
    return this.#running === null ? null : readStoredPrices(this.#running.store);
  }

  reportRejectedReload(reason: string): void {
    this.#running?.reportRejectedReload(reason);
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
    const problem = this.#running?.problem() ?? null;
    if (problem?.endsProcess === true) this.#end(`${problem.reason} ${problem.advice}`);
    if (this.#restoring !== null || !this.#isRestoreWanted(folder)) return;
    this.#restoring = this.#restore(folder)
      .catch((error) => this.#end(reasonOf(error)))
      .finally(() => {
        this.#restoring = null;
      });
  }

  #end(reason: string): never {
    this.#noteError(reason);
    process.exit(1);
  }

  /** A folder that cannot be read now (no file descriptor, no mount) is read again at the next check. */
  #isRestoreWanted(folder: FolderMaintenance): boolean {
    try {
      return folder.hasStagedRestore();
    } catch (error) {
      this.#noteOnce(`cannot look for a backup to restore: ${reasonOf(error)}`);
      return false;
    }
  }

  async #restore(folder: FolderMaintenance): Promise<void> {
    try {
      await folder.awaitUnlocked();
    } catch (error) {
      // The gateway keeps running. The copy stays in place, and the next check tries again.
      this.#noteOnce(`the backup cannot be restored yet: ${reasonOf(error)}`);
      return;
    }
    this.#terminal.note("restoring a backup: draining requests");
    const losses = (await this.#running?.stop()) ?? [];
    for (const loss of losses) this.#noteError(loss);
    this.#running = null;
    const restored = await applyRestore(folder, this.#terminal);
    this.#running = await this.#restart(folder, restored);
    if (this.#running === null) return;
    folder.endStagedRestore();
    this.#terminal.note(`listening again on ${this.url}`);
  }

  /** Null if the service was stopped meanwhile; the next start continues from here. */
  async #restart(folder: FolderMaintenance, restored: RestoreResult | null): Promise<RunningGateway | null> {
    const port = Number(new URL(this.url).port);
    let replaced = restored?.replaced ?? null;
    while (!this.#isStopping) {
      try {
        const settings = { ...this.#current, server: { ...this.#current.server, port } };
        const running = await startGateway({ settings, configOnDisk: this.#configOnDisk });
        // The restored data may have no token, or one of a trial.
        showAdminToken(running, { settings, json: this.#json, terminal: this.#terminal });
        return running;
      } catch (error) {
        if (!mayPass(error)) {
          if (replaced === null) throw error;
          await this.#rollBack(folder, replaced, error);
          replaced = null;
          continue;
        }
        this.#noteOnce(`not listening yet: ${reasonOf(error)}`);
      }
      await Bun.sleep(startAgainEveryMs);
    }
    return null;
  }

  /** The restored data is unusable: the gateway continues with the old data. */
  async #rollBack(folder: FolderMaintenance, replaced: string, error: unknown): Promise<void> {
    const problem = `the backup cannot be used: ${reasonOf(error)}`;
    this.#noteError(problem);
    await folder.restore(replaced, systemClock.wallMs());
    folder.endStagedRestore(problem);
  }

  #noteError(text: string): void {
    const { note, noteStyle } = this.#terminal;
    note(`${noteStyle.bad("error:")} ${text}`);
  }

  #noteOnce(text: string): void {
    if (text !== this.#lastNote) this.#terminal.note(text);
    this.#lastNote = text;
  }
}

/** A command that changes something without a gateway has the folder for a moment; a migration takes longer. */
const commandsEndWithinMs = 30_000;
const waitForFolderMs = 250;

/**
 * Waits for commands that hold the folder. If a gateway holds it, the error names that gateway, so that it can be
 * stopped.
 */
async function whenFolderIsFree<Result>(dir: string, work: () => Promise<Result>): Promise<Result> {
  const untilMs = performance.now() + commandsEndWithinMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== "in_use") throw error;
      const gateway = await greet(dir);
      const pid = gateway?.pid ?? servedPid(dir);
      if (gateway === null && performance.now() < untilMs) {
        await Bun.sleep(waitForFolderMs);
        continue;
      }
      if (pid === null) throw error;
      const address = gateway?.address ?? servedAddress(dir);
      throw new CommandError(
        `the data folder ${dir} is in use by a running gateway (process ${pid}, ${address}); stop it first: kill ${pid}`,
      );
    }
  }
}

async function beginNewLedger({ store, server }: Settings, terminal: Terminal): Promise<void> {
  if (store !== null)
    throw new CommandError("--new-ledger is for data in a folder; this data is in PostgreSQL");
  await withFolder(server.data, (folder) => folder.beginNewLedger(systemClock.wallMs()));
  terminal.note(`${server.data} begins with a new, empty ledger; start without --new-ledger from now on`);
}

async function checkedFolder({ server }: Settings, terminal: Terminal): Promise<FolderMaintenance> {
  return withFolder(server.data, async (folder) => {
    await applyRestore(folder, terminal);
    const finished = await folder.finishRestore(systemClock.wallMs());
    if (finished !== null) terminal.note(finished);
    return folder;
  });
}

/** A copy that cannot be put in place is reported and skipped: the gateway continues with its data. */
async function applyRestore(
  folder: FolderMaintenance,
  { note, noteStyle }: Terminal,
): Promise<RestoreResult | null> {
  try {
    const restored = await folder.applyStagedRestore();
    if (restored === null) return null;
    const backupNote =
      restored.replaced === null ? "" : `; the previous data is kept as ${restored.replaced}`;
    note(`restored${backupNote}`);
    return restored;
  } catch (error) {
    folder.endStagedRestore(reasonOf(error));
    note(`${noteStyle.bad("error:")} the backup was not restored: ${reasonOf(error)}`);
    return null;
  }
}

/** Whether the failure may be temporary: another process uses the database, the disk or the port. */
function mayPass(error: unknown): boolean {
  if (error instanceof StoreError) return ["locked", "disk_full", "in_use"].includes(error.reason);
  return error instanceof CannotListen;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
