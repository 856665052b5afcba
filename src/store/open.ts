import type { Clock } from "../base/clock.ts";
import type { DatabaseCheck } from "./check.ts";
import type { CopyProgress, CopyResult, CopyTarget, StoreSource } from "./copy/copy.ts";
import type { FolderMaintenance } from "./files.ts";
import type { MovedStore } from "./moved.ts";
import type { StoreNode } from "./node.ts";
import type { NodeSettings } from "./node-settings.ts";
import { parseAddress } from "./postgres/address.ts";
import type { PostgresLocation, PostgresStoreSettings, StoreLocation, StoreSettings } from "./settings.ts";
import type { JournaledStore, Store } from "./store.ts";

/** The only way to open a store. Databases are imported on demand, so that a command that needs none loads none. */
export async function openStore(
  settings: StoreSettings & { readonly role: "gateway" },
): Promise<JournaledStore>;
export async function openStore(settings: StoreSettings | PostgresStoreSettings): Promise<Store>;
export async function openStore(settings: StoreSettings | PostgresStoreSettings): Promise<Store> {
  if ("location" in settings) {
    const { openPostgresStore } = await import("./postgres/open.ts");
    return openPostgresStore(settings);
  }
  const { openSqliteStore } = await import("./sqlite/open.ts");
  return openSqliteStore(settings);
}

/** Joins a shared database whose schema is up to date. */
export async function joinStore(settings: NodeSettings): Promise<StoreNode> {
  const { PostgresNode } = await import("./postgres/node/postgres-node.ts");
  return PostgresNode.join(settings);
}

/** `db.example.com:5432/sluice`: for display, without secrets. Throws if the URL cannot be used. */
export function nameOfDatabase({ url, password }: PostgresLocation): string {
  return parseAddress(url, password).name;
}

/** Connects to a database and reports its state. */
export async function checkDatabase(
  location: PostgresLocation,
  options: { readonly migrates: boolean },
): Promise<DatabaseCheck> {
  const { checkDatabase: check } = await import("./postgres/check.ts");
  return check(location, options);
}

/** Copies all data of one store into another, which must be empty. Neither may be in use. */
export async function copyAll({ from, to, ...request }: CopyRequest): Promise<CopyResult> {
  const { copyStore } = await import("./copy/copy.ts");
  const name = "url" in to ? nameOfDatabase(to) : to.dir;
  return moveFrom(from, name, request, (source) =>
    withTarget(to, request.clock, (target) => copyStore(source, target, request.onProgress)),
  );
}

/** Writes all data of a store into a new file, which a build with another schema can import. */
export async function exportStore({ from, file, ...request }: ExportRequest): Promise<CopyResult> {
  const { copyStore } = await import("./copy/copy.ts");
  const { withFileTarget } = await import("./copy/file-target.ts");
  return moveFrom(from, file, request, (source) =>
    withFileTarget(file, (target) => copyStore(source, target, request.onProgress)),
  );
}

/** Reads an exported file into an empty store. */
export async function importStore({ file, to, clock, onProgress }: ImportRequest): Promise<CopyResult> {
  const { copyStore } = await import("./copy/copy.ts");
  const { withFileSource } = await import("./copy/file-source.ts");
  return withFileSource(file, (source) =>
    withTarget(to, clock, (target) => copyStore(source, target, onProgress)),
  );
}

interface MoveRequest {
  readonly clock: Clock;
  /** The source is not marked as moved: it stays in use. */
  readonly keepsSource: boolean;
  /** Data folders of gateways, which may contain charges that the source never received. */
  readonly nodeFolders: readonly string[];
  onProgress(progress: CopyProgress): void;
}

export interface CopyRequest extends MoveRequest {
  readonly from: StoreLocation;
  readonly to: StoreLocation;
}

export interface ExportRequest extends MoveRequest {
  readonly from: StoreLocation;
  readonly file: string;
}

export interface ImportRequest extends Pick<MoveRequest, "clock" | "onProgress"> {
  readonly file: string;
  readonly to: StoreLocation;
}

/** Moves data. Nothing else can use the source meanwhile, and afterwards it cannot be opened. */
async function moveFrom(
  from: StoreLocation,
  to: string,
  { clock, keepsSource, nodeFolders }: MoveRequest,
  copy: (source: StoreSource) => Promise<CopyResult>,
): Promise<CopyResult> {
  const move = async (source: StoreSource) => {
    const copied = await copy(source);
    if (!keepsSource) await source.markMoved({ to, atMs: clock.wallMs() });
    return copied;
  };
  if ("url" in from) {
    const { withPostgresSource } = await import("./postgres/copy.ts");
    return withPostgresSource(from, nodeFolders, move);
  }
  const { withSqliteSource } = await import("./sqlite/copy.ts");
  return withSqliteSource(from.dir, clock, move);
}

/** The place that the store's data was moved to; null if it was not moved. */
export async function movedTo(location: StoreLocation): Promise<MovedStore | null> {
  if ("url" in location) return (await import("./postgres/moved.ts")).readMovedFrom(location);
  return (await import("./sqlite/moved.ts")).readMovedFrom(location.dir);
}

/** Makes a store usable again after its data was moved. */
export async function reopenStore(location: StoreLocation): Promise<void> {
  if ("url" in location) await (await import("./postgres/moved.ts")).reopen(location);
  else (await import("./sqlite/moved.ts")).reopen(location.dir);
}

async function withTarget<Result>(
  to: StoreLocation,
  clock: Clock,
  work: (target: CopyTarget) => Promise<Result>,
): Promise<Result> {
  if ("url" in to) {
    const { withPostgresTarget } = await import("./postgres/copy.ts");
    return withPostgresTarget(to, work);
  }
  const { withSqliteTarget } = await import("./sqlite/copy.ts");
  return withSqliteTarget(to.dir, clock, work);
}

/** Restores and checks of a data folder, which need no open store. */
export async function maintainFolder(dir: string): Promise<FolderMaintenance> {
  const { sqliteMaintenance } = await import("./sqlite/files/maintenance.ts");
  return sqliteMaintenance(dir);
}

/** The newest schema version that this program knows, for each database. */
export async function knownSchemas(): Promise<{ readonly sqlite: number; readonly postgres: number }> {
  const [sqlite, postgres] = await Promise.all([
    import("./sqlite/migrate.ts"),
    import("./postgres/migrate.ts"),
  ]);
  return { sqlite: sqlite.migrations.length, postgres: postgres.migrations.length };
}
