import { relative } from "node:path";
import type { OperationContext } from "../admin/operations/context.ts";
import { systemClock } from "../base/clock.ts";
import { locateData } from "../config/locate-data.ts";
import type { StoreAddress } from "../config/settings.ts";
import { locateStore } from "../config/store.ts";
import { maintainFolder, nameOfDatabase, openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { Refused } from "./failure.ts";
import type { DataOptions } from "./help.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** Where the data is, as results show it. */
export type StorePlace = { readonly data_folder: string } | { readonly store: string };

interface StoreContext extends OperationContext {
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
  if (address === null && !create && !(await maintainFolder(dir)).hasData()) {
    throw new Refused(nothingThere(dir, cwd));
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

/** Opens the folder, creating it if requested. An unusable folder is reported with what to do. */
export async function openFolder(dir: string, terminal: Terminal): Promise<Store> {
  try {
    const onClosedToOthers = (file: string) =>
      terminal.note(`${file} could be read by other users of this machine; now only by its owner`);
    return await openStore({ dir, clock: systemClock, role: "operator", onClosedToOthers });
  } catch (error) {
    const problem = (await maintainFolder(dir)).describeProblem(error);
    if (problem === null) throw error;
    throw new Refused(`${dir} ${problem} name another with --data`);
  }
}

export function openDatabase(location: StoreAddress, { migrates = false } = {}): Promise<Store> {
  return openStore({ location, clock: systemClock, role: "operator", migrates });
}

/** Reading the wrong folder must not create an empty database. */
function nothingThere(dir: string, cwd: string): string {
  const shown = relative(cwd, dir);
  const path = shown === "" || shown.startsWith("..") ? dir : `./${shown}`;
  return `there is no data in ${path} yet; \`sluice serve\` makes it, or name the folder with --data`;
}
