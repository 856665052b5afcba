import { relative } from "node:path";
import type { OperationContext } from "../admin/operations/context.ts";
import { systemClock } from "../base/clock.ts";
import { locateData } from "../config/locate-data.ts";
import type { StoreAddress } from "../config/settings.ts";
import { locateStore } from "../config/store.ts";
import { maintainFolder, nameOfDatabase, openStore } from "../store/open.ts";
import type { FolderMaintenance, Store } from "../store/store.ts";
import { Refused } from "./failure.ts";
import type { DataOptions } from "./help.ts";
import { servedStore } from "./serve/files-for-commands.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** Where the data is, as results show it. */
export type StorePlace = { readonly data_folder: string } | { readonly store: string };

export interface StoreContext extends OperationContext {
  /** The data folder; with a database, it has only what the gateway of this machine leaves there. */
  readonly dir: string;
  readonly place: StorePlace;
}

interface StoreUse {
  /** Creates the folder if it does not exist. */
  readonly create?: boolean;
  /** Names the place that was written to afterwards: it may not be the intended one. */
  readonly writes?: boolean;
}

/** Opens the store, which gateways may be using, does the work, and closes it again. */
export async function withStore<Result>(
  terminal: Terminal,
  options: DataOptions,
  { create = false, writes = create }: StoreUse,
  work: (context: StoreContext) => Promise<Result>,
): Promise<Result> {
  const { env, cwd } = terminal;
  const { config: file, data } = options;
  const address = locateStore({ file, store: options.store, env, cwd });
  const dir = locateData({ file, data, env, cwd });
  if (address === null) {
    const hasData = await withFolder(dir, async (folder) => folder.hasData());
    if (!hasData || writes) refuseOtherStore(dir);
    if (!hasData && !create) throw new Refused(nothingThere(dir, cwd));
  }
  const store = address === null ? await openFolder(dir, terminal) : await openDatabase(address);
  const name = address === null ? dir : nameOfDatabase(address);
  try {
    const place = address === null ? { data_folder: dir } : { store: name };
    const result = await work({ store, clock: systemClock, dir, place });
    // In JSON it is a field of the result.
    if (writes && !options.json) terminal.note(terminal.noteStyle.dim(`  in ${name}`));
    return result;
  } catch (error) {
    throw store.files?.explain(error) ?? error;
  } finally {
    await store.close();
  }
}

/** Opens the folder, creating it if it does not exist. */
export function openFolder(dir: string, terminal: Terminal): Promise<Store> {
  const onClosedToOthers = (file: string) =>
    terminal.note(`${file} could be read by other users of this machine; now only by its owner`);
  return withFolder(dir, () => openStore({ dir, clock: systemClock, role: "operator", onClosedToOthers }));
}

/** Works on the data folder's files. An unusable folder is reported with what to do. */
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
    throw new Refused(`${dir} ${problem} name another with --data`);
  }
}

/** A key that is made in the folder would be unknown to its gateway. */
function refuseOtherStore(dir: string): void {
  const store = servedStore(dir);
  if (store === null) return;
  throw new Refused(
    `the gateway of ${dir} keeps its data in the database ${store}; name that with --store or SLUICE_STORE, ` +
      "or the configuration that does with --config",
  );
}

function openDatabase(location: StoreAddress): Promise<Store> {
  return openStore({ location, clock: systemClock, role: "operator", migrates: false });
}

/** Reading the wrong folder must not create an empty database. */
function nothingThere(dir: string, cwd: string): string {
  const shown = relative(cwd, dir);
  const path = shown === "" || shown.startsWith("..") ? dir : `./${shown}`;
  return `there is no data in ${path} yet; \`sluice serve\` makes it, or name the folder with --data`;
}
