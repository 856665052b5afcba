import { relative } from "node:path";
import type { OperationContext } from "../admin/operations/context.ts";
import { systemClock } from "../base/clock.ts";
import { locateData } from "../config/locate-data.ts";
import { maintainFolder, openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { Refused } from "./failure.ts";
import type { DataOptions } from "./help.ts";
import type { Terminal } from "./terminal/terminal.ts";

interface StoreContext extends OperationContext {
  /** The data folder. */
  readonly dir: string;
}

interface StoreUse {
  /** Creates the folder if it does not exist. */
  readonly create?: boolean;
  /** Names the folder that was written to afterwards: it may not be the intended one. */
  readonly writes?: boolean;
}

/** Opens the data folder, which a gateway may be using, does the work, and closes it again. */
export async function withStore<Result>(
  terminal: Terminal,
  options: DataOptions,
  { create = false, writes = create }: StoreUse,
  work: (context: StoreContext) => Promise<Result>,
): Promise<Result> {
  const { env, cwd } = terminal;
  const dir = locateData({ file: options.config, data: options.data, env, cwd });
  if (!create && !(await maintainFolder(dir)).hasData()) throw new Refused(nothingThere(dir, cwd));
  const store = await openAsOperator(dir, terminal);
  try {
    const result = await work({ store, clock: systemClock, dir });
    // In JSON it is a field of the result.
    if (writes && !options.json) terminal.note(terminal.noteStyle.dim(`  in ${dir}`));
    return result;
  } catch (error) {
    throw store.files?.explain(error) ?? error;
  } finally {
    await store.close();
  }
}

/** Opens the folder, creating it if requested. An unusable folder is reported with what to do. */
export async function openAsOperator(dir: string, terminal: Terminal): Promise<Store> {
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

/** Reading the wrong folder must not create an empty database. */
function nothingThere(dir: string, cwd: string): string {
  const shown = relative(cwd, dir);
  const path = shown === "" || shown.startsWith("..") ? dir : `./${shown}`;
  return `there is no data in ${path} yet; \`sluice serve\` makes it, or name the folder with --data`;
}
