import { version } from "../../../package.json";
import type { LocalOperations } from "../../admin/api/local.ts";
import { userHeader } from "../../admin/api/local.ts";
import { systemClock } from "../../base/clock.ts";
import { once } from "../../base/once.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { ContentArchive } from "../../content/archive.ts";
import { cleanJson } from "../../content/clean-json.ts";
import type { ArchiveCalls } from "../../content/thread-messages.ts";
import { openStore } from "../../store/open.ts";
import { hasContentFile } from "../../store/open-content.ts";
import type { PostgresLocation } from "../../store/settings.ts";
import type { DataOptions } from "../help.ts";
import { knownNames } from "../known-names.ts";
import { openContent } from "../open-content.ts";
import { openFolderForCommand } from "../open-store.ts";
import { configFileOf } from "../serve/files-for-commands.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { callingUser } from "./calling-user.ts";
import type { OperationCall, Transport } from "./client.ts";

/** Whether to read recorded content, or only to count or delete it, which needs no encryption key. */
export type ContentUse = "documents" | "rows";

export interface OpenedHere {
  readonly dir: string;
  /** Null if the data is in the folder. */
  readonly address: PostgresLocation | null;
  readonly options: DataOptions;
  readonly terminal: Terminal;
  readonly content?: ContentUse | undefined;
  /** No gateway can start on the folder meanwhile. */
  readonly locks?: boolean;
}

/** Performs operations in the command's own process, on data that no gateway of this machine serves. */
export class OwnProcess implements Transport {
  readonly #operations: LocalOperations;
  readonly #opened: AsyncDisposableStack;

  private constructor(operations: LocalOperations, opened: AsyncDisposableStack) {
    this.#operations = operations;
    this.#opened = opened;
  }

  static async open(here: OpenedHere): Promise<OwnProcess> {
    const { dir, address, options, terminal, locks = false } = here;
    const { operationsWithoutGateway } = await import("../../admin/api/without-gateway.ts");
    const opened = new AsyncDisposableStack();
    try {
      const store = await (address === null
        ? openFolderForCommand(dir, terminal, locks)
        : openStore({ location: address, clock: systemClock, role: "operator", migrates: false }));
      opened.defer(() => store.close());
      const { env, cwd } = terminal;
      const content = await contentCalls(here, opened);
      const { examineSettings } = await import("../../config/load.ts");
      const file = options.config ?? configFileOf(dir);
      const examined = once(() => examineSettings({ file, env, cwd }));
      const operations = await operationsWithoutGateway({
        store,
        clock: systemClock,
        version,
        content,
        settings: () => examined().settings,
        knownNames: () => knownNames(options, dir, terminal, examined),
        noGateway: `no gateway runs on ${dir}, and this needs a running one`,
      });
      return new OwnProcess(operations, opened);
    } catch (error) {
      await opened.disposeAsync();
      throw error;
    }
  }

  send({ method, path, body }: OperationCall): Promise<Response> {
    const headers = { [userHeader]: encodeURIComponent(callingUser()) };
    return this.#operations(new Request(`http://here${path}`, { method, body, headers }));
  }

  close(): Promise<void> {
    return this.#opened.disposeAsync();
  }
}

/** The calls that a gateway makes on its content thread; null if nothing was recorded. */
async function contentCalls(
  { content, dir, address, options, terminal }: OpenedHere,
  opened: AsyncDisposableStack,
): Promise<ArchiveCalls | null> {
  if (content === undefined || (address === null && !(await hasContentFile(dir)))) return null;
  const archive = await (content === "rows"
    ? ContentArchive.openRows(address ?? { dir })
    : openContent({ dir }, options, terminal));
  opened.defer(() => archive.close());
  return {
    read: (id) => archive.read(id),
    list: (page) => archive.list(page),
    exportLines: (page) => archive.exportLines(page),
    delete: (filter) => archive.delete(filter),
    sizes: () => archive.store.sizes(),
    clean: async (text) => cleanJson(text, knownSecrets().all()),
  };
}
