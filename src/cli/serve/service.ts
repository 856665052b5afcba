import { type RunningGateway, startGateway } from "../../app/start.ts";
import { readStoredPrices } from "../../app/stored-prices.ts";
import { systemClock } from "../../base/clock.ts";
import { collectWhenIdle } from "../../base/system/idle-collection.ts";
import { CannotListen } from "../../base/system/open-port.ts";
import type { ConfigOnDisk, ReloadConsent, ReloadResult } from "../../config/on-disk.ts";
import { newSecretFiles } from "../../config/reload.ts";
import type { Settings } from "../../config/settings.ts";
import { type FolderMaintenance, type RestoreResult, StoreError } from "../../store/store.ts";
import { withFolder } from "../open-store.ts";
import { greet } from "../operations/socket.ts";
import { CommandError, type Terminal } from "../terminal/terminal.ts";
import { servedAddress, servedPid, writeFilesForCommands } from "./files-for-commands.ts";
import { startWithKeys } from "./start.ts";

const lookEveryMs = 1_000;
const startAgainEveryMs = 1_000;

/**
 * Keeps the service running while a backup replaces its data: the gateway is drained and stopped, and a new one starts
 * at the same address.
 */
export async function startService(
  settings: Settings,
  configOnDisk: ConfigOnDisk,
  json: boolean,
  terminal: Terminal,
) {
  // PostgreSQL is restored by its own tools.
  const folder = settings.store === null ? await checkedFolder(settings, terminal) : null;
  /** Null while a backup is restored. */
  let running: RunningGateway | null = await takingFolder(settings.server.data, () =>
    startWithKeys({ settings, configOnDisk }, json, terminal),
  );
  folder?.endStagedRestore();
  const { url } = running;
  let current = running.gateway.configured.settings;
  let restoring: Promise<void> | null = null;
  let isStopping = false;
  let lastNote = "";
  const looking = folder === null ? null : setInterval(() => look(folder), lookEveryMs);
  const collecting = collectWhenIdle(() => running?.gateway.ongoing ?? null);

  return {
    url,
    /** The settings at the start. */
    settings: current,
    /** During a restore it waits for the next gateway. */
    async reload(next: Settings, consent: ReloadConsent): Promise<ReloadResult> {
      await restoring;
      if (running === null) return { needsRestart: [], newSecrets: [] };
      const newSecrets = newSecretFiles(current, next);
      const reloaded = await running.reload(next, consent);
      current = reloaded.settings;
      writeFilesForCommands(current, terminal, url);
      return { needsRestart: reloaded.needsRestart, newSecrets };
    },
    storedPrices: async () => (running === null ? null : readStoredPrices(running.store)),
    reportRefusedReload: (reason: string) => running?.reportRefusedReload(reason),
    /** Returns what could not be written to disk, in sentences. */
    async stop(): Promise<readonly string[]> {
      isStopping = true;
      if (looking !== null) clearInterval(looking);
      clearInterval(collecting);
      await restoring;
      return (await running?.stop()) ?? [];
    },
    describeLosses: (): readonly string[] => running?.describeLosses() ?? [],
  };

  function look(folder: FolderMaintenance): void {
    const problem = running?.problem() ?? null;
    if (problem?.endsProcess === true) {
      terminal.note(`${terminal.noteStyle.bad("error:")} ${problem.reason} ${problem.advice}`);
      process.exit(1);
    }
    if (restoring !== null || !isRestoreWanted(folder)) return;
    restoring = restore(folder)
      .catch((error) => {
        terminal.note(`${terminal.noteStyle.bad("error:")} ${reasonOf(error)}`);
        process.exit(1);
      })
      .finally(() => {
        restoring = null;
      });
  }

  /** A folder that cannot be read now (no file descriptor, no mount) is read again at the next check. */
  function isRestoreWanted(folder: FolderMaintenance): boolean {
    try {
      return folder.hasStagedRestore();
    } catch (error) {
      noteOnce(`cannot look for a backup to restore: ${reasonOf(error)}`);
      return false;
    }
  }

  async function restore(folder: FolderMaintenance): Promise<void> {
    try {
      await folder.awaitUnlocked();
    } catch (error) {
      // The gateway keeps running. The copy stays in place, and the next check tries again.
      noteOnce(`the backup cannot be restored yet: ${reasonOf(error)}`);
      return;
    }
    terminal.note("restoring a backup: draining requests");
    const losses = (await running?.stop()) ?? [];
    for (const loss of losses) terminal.note(`${terminal.noteStyle.bad("error:")} ${loss}`);
    running = null;
    const restored = await applyRestore(folder, terminal);
    running = await restart(folder, restored);
    if (running === null) return;
    folder.endStagedRestore();
    terminal.note(`listening again on ${url}`);
  }

  /** Null if the service was stopped meanwhile; the next start continues from here. */
  async function restart(
    folder: FolderMaintenance,
    restored: RestoreResult | null,
  ): Promise<RunningGateway | null> {
    const { server } = current;
    const port = Number(new URL(url).port);
    let replaced = restored?.replaced ?? null;
    while (!isStopping) {
      try {
        const settings = { ...current, server: { ...server, port } };
        return await startGateway({ settings, configOnDisk });
      } catch (error) {
        if (!mayPass(error)) {
          if (replaced === null) throw error;
          await rollBack(folder, replaced, error);
          replaced = null;
          continue;
        }
        noteOnce(`not listening yet: ${reasonOf(error)}`);
      }
      await Bun.sleep(startAgainEveryMs);
    }
    return null;
  }

  /** The restored data is unusable: the gateway continues with the old data. */
  async function rollBack(folder: FolderMaintenance, replaced: string, error: unknown): Promise<void> {
    const problem = `the backup cannot be used: ${reasonOf(error)}`;
    terminal.note(`${terminal.noteStyle.bad("error:")} ${problem}`);
    await folder.restore(replaced, systemClock.wallMs());
    folder.endStagedRestore(problem);
  }

  function noteOnce(text: string): void {
    if (text !== lastNote) terminal.note(text);
    lastNote = text;
  }
}

/** A command that changes something without a gateway has the folder for a moment; a migration takes longer. */
const commandsEndWithinMs = 30_000;
const waitForFolderMs = 250;

/** Waits for commands that have the folder. Says which gateway has it, so that it can be stopped. */
async function takingFolder<Result>(dir: string, work: () => Promise<Result>): Promise<Result> {
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

/** Another process has the database, the disk or the port at the moment. */
function mayPass(error: unknown): boolean {
  if (error instanceof StoreError) return ["locked", "disk_full", "in_use"].includes(error.reason);
  return error instanceof CannotListen;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
