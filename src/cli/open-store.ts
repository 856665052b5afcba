import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { relative } from "node:path";
import type { OperationContext } from "../admin/context.ts";
import { systemClock } from "../base/clock.ts";
import { locateData } from "../config/locate-data.ts";
import { locateStore } from "../config/store.ts";
import { maintainFolder, nameOfDatabase, openStore } from "../store/open.ts";
import type { Migration } from "../store/settings.ts";
import type { AccountRecord, FolderMaintenance, KeyRecord, Store } from "../store/store.ts";
import type { DataOptions } from "./help.ts";
import { servedStore } from "./serve/files-for-commands.ts";
import { CommandError, type Terminal } from "./terminal/terminal.ts";

export type StorePlace = { readonly data_folder: string } | { readonly store: string };

export interface StoreContext extends OperationContext {
  /** The data folder. With PostgreSQL it only has files of this machine's gateway. */
  readonly dir: string;
  readonly place: StorePlace;
}

interface StoreUse {
  /** Creates the folder if it does not exist. */
  readonly create?: boolean;
  /** Prints which store was written to, because it may not be the intended one. */
  readonly writes?: boolean;
}

/** Opens the store, which gateways may be using, runs `work`, and closes it. */
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
    if (!hasData || writes) rejectOtherStore(dir);
    if (!hasData && !create) throw new CommandError(nothingThere(dir, cwd));
  }
  const store = await (address === null
    ? openFolder(dir, terminal)
    : openStore({ location: address, clock: systemClock, role: "operator", migrates: false }));
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

/** Creates the folder if it does not exist. */
export function openFolder(dir: string, terminal: Terminal): Promise<Store> {
  const onClosedToOthers = (file: string) =>
    terminal.note(`${file} was readable by other users; now only by its owner`);
  const onMigration = ({ from, to, copy }: Migration) =>
    terminal.note(`upgrading the database from schema ${from} to ${to}; a copy of the old one is in ${copy}`);
  const callbacks = { onClosedToOthers, onMigration };
  return withFolder(dir, () => openStore({ dir, clock: systemClock, role: "operator", ...callbacks }));
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
  return `there is no data in ${path} yet; \`sluice serve\` makes it, or name the folder with --data`;
}

/** Writes a change made at the command line to the same audit log as the admin API. */
export async function auditChange(
  { store, clock }: OperationContext,
  action: string,
  /** A key, or an account by its id. */
  target: Pick<KeyRecord, "prefix"> | Pick<AccountRecord, "id" | "mode">,
  detail: string | null = null,
): Promise<void> {
  const atMs = clock.wallMs();
  await store.admin.appendAudit({
    atMs,
    actor: "cli",
    address: actor(),
    action,
    target: "prefix" in target ? target.prefix : target.id,
    detail,
  });
}

/** Who runs this command. */
export function actor(): string {
  return userName(process.env["SUDO_USER"]);
}

/** Local changes have a user name instead of an address; behind sudo, the name of the calling user. */
function userName(behindSudo: string | undefined): string {
  const username = systemUser();
  const isHidden = behindSudo !== undefined && behindSudo !== "" && behindSudo !== username;
  return isHidden ? `${behindSudo} as ${username}` : username;
}

/** Bun reads the name from the environment. Services, cron and containers do not set it, and it is then "unknown". */
function systemUser(): string {
  try {
    const { username } = userInfo();
    if (username !== "" && username !== "unknown") return username;
  } catch {
    // The user does not exist on this machine; its number is shown instead.
  }
  const uid = process.getuid?.();
  return (uid !== undefined && nameInPasswd(uid)) || `user ${uid ?? "unknown"}`;
}

function nameInPasswd(uid: number): string | null {
  if (!existsSync("/etc/passwd")) return null;
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const [name] = users.map((line) => line.split(":")).find((fields) => fields[2] === String(uid)) ?? [];
  return name ?? null;
}
