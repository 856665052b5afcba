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
  /** Makes the folder if it is not there. */
  readonly create?: boolean;
  /** Says afterwards which folder was written to: it may not be the one that was meant. */
  readonly writes?: boolean;
}

/** Opens the data folder beside a gateway that may be running, does the work, and closes it again. */
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
    // In JSON it is part of the result.
    if (writes && !options.json) terminal.note(terminal.noteStyle.dim(`  in ${dir}`));
    return result;
  } catch (error) {
    throw store.files?.explain(error) ?? error;
  } finally {
    await store.close();
  }
}

/** Opens the folder and makes it if need be; one that cannot be used is told with what to do. */
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

/** A look at the wrong folder must not leave an empty database behind. */
function nothingThere(dir: string, cwd: string): string {
  const shown = relative(cwd, dir);
  const path = shown === "" || shown.startsWith("..") ? dir : `./${shown}`;
  return `there is no data in ${path} yet; \`sluice serve\` makes it, or name the folder with --data`;
}
