import { relative } from "node:path";
import { localName } from "../admin/access/actor.ts";
import { audit } from "../admin/audit.ts";
import type { OperationContext } from "../admin/context.ts";
import { systemClock } from "../base/clock.ts";
import { maintainFolder, openStore } from "../store/open.ts";
import type { Migration } from "../store/settings.ts";
import type { FolderMaintenance, Store } from "../store/store.ts";
import { database, dataFolder } from "./data-place.ts";
import type { DataOptions } from "./help.ts";
import { callingUser } from "./operations/calling-user.ts";
import { servedStore } from "./serve/files-for-commands.ts";
import { CommandError, type Terminal } from "./terminal/terminal.ts";

export interface StoreContext extends OperationContext {
  /** The data folder. With PostgreSQL it only has files of this machine's gateway. */
  readonly dir: string;
}

/** Opens the store, which gateways may be using, runs `work`, and closes it. */
export async function withStore<Result>(
  terminal: Terminal,
  options: DataOptions,
  work: (context: StoreContext) => Promise<Result>,
): Promise<Result> {
  const address = database(options, terminal);
  const dir = dataFolder(options, terminal);
  if (address === null) await rejectUnusable({ dir, cwd: terminal.cwd, create: false, writes: false });
  const store = await (address === null
    ? openFolderForCommand(dir, terminal)
    : openStore({ location: address, clock: systemClock, role: "operator", migrates: false }));
  try {
    return await work({ store, clock: systemClock, dir });
  } catch (error) {
    throw store.files?.explain(error) ?? error;
  } finally {
    await store.close();
  }
}

interface FolderUse {
  readonly dir: string;
  readonly cwd: string;
  /** Creates the folder if it does not exist. */
  readonly create: boolean;
  readonly writes: boolean;
}

/** Rejects a folder without data, which is probably not the intended one. */
export async function rejectUnusable({ dir, cwd, create, writes }: FolderUse): Promise<void> {
  const hasData = await withFolder(dir, async (folder) => folder.hasData());
  if (!hasData || writes) rejectOtherStore(dir);
  if (!hasData && !create) throw new CommandError(nothingThere(dir, cwd));
}

/** Creates the folder if it does not exist. With a lock, no gateway can start on it meanwhile. */
export function openFolder(dir: string, terminal: Terminal, locks = false): Promise<Store> {
  const onPermissionsRestricted = (file: string) =>
    terminal.note(`${file} was readable by other users; now only by its owner`);
  const onMigration = ({ from, to, copy }: Migration) =>
    terminal.note(`upgrading the database from schema ${from} to ${to}; a copy of the old one is in ${copy}`);
  const callbacks = { onPermissionsRestricted, onMigration };
  return withFolder(dir, () => openStore({ dir, clock: systemClock, role: "operator", locks, ...callbacks }));
}

/** Opens the folder for a command, which says if charges may be missing there. A gateway logs that. */
export async function openFolderForCommand(dir: string, terminal: Terminal, locks = false): Promise<Store> {
  const store = await openFolder(dir, terminal, locks);
  const damage = store.files?.damage ?? null;
  if (damage !== null) terminal.note(damage.text);
  return store;
}

/** Runs `work` on the data folder, and explains an unusable folder. */
export async function withFolder<Result>(
  dir: string,
  work: (folder: FolderMaintenance) => Promise<Result>,
): Promise<Result> {
  const folder = await maintainFolder(dir);
  try {
    return await work(folder);
  } catch (error) {
    const problem = folder.describeProblem(error);
    if (problem === null) throw error;
    throw new CommandError(`${dir} ${problem} pass a different folder with --data`);
  }
}

/** A key that is made in the folder would be unknown to its gateway. */
function rejectOtherStore(dir: string): void {
  const store = servedStore(dir);
  if (store === null) return;
  throw new CommandError(
    `the gateway of ${dir} uses the database ${store}; pass it with --store or SLUICE_STORE, ` +
      "or pass the configuration with --config",
  );
}

/** Reading the wrong folder must not create an empty database. */
function nothingThere(dir: string, cwd: string): string {
  const shown = relative(cwd, dir);
  const path = shown === "" || shown.startsWith("..") ? dir : `./${shown}`;
  return `${path} has no data yet; \`sluice serve\` creates it, or pass --data DIR`;
}

/** Writes a change made at the command line to the same audit log as the admin API. */
export async function auditChange(
  context: OperationContext,
  action: string,
  target: string,
  detail: string | null = null,
): Promise<void> {
  await audit(context, { actor: localName, address: callingUser() }, { action, target, detail });
}
