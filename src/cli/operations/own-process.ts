import { version } from "../../../package.json";
import type { LocalOperations } from "../../admin/routes/local.ts";
import { userHeader } from "../../admin/routes/local.ts";
import { systemClock } from "../../base/clock.ts";
import { once } from "../../base/once.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import type { ContentArchive } from "../../content/archive.ts";
import { cleanJson } from "../../content/clean-json.ts";
import type { ArchiveCalls } from "../../content/thread-messages.ts";
import { openStore } from "../../store/open.ts";
import type { PostgresLocation } from "../../store/settings.ts";
import type { DataOptions } from "../help.ts";
import { knownNames } from "../known-names.ts";
import { openContent } from "../open-content.ts";
import { openFolder } from "../open-store.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { callingUser } from "./calling-user.ts";
import type { OperationCall, Transport } from "./client.ts";

export interface OpenedHere {
  readonly dir: string;
  /** Null if the data is in the folder. */
  readonly address: PostgresLocation | null;
  readonly options: DataOptions;
  readonly terminal: Terminal;
  readonly content: boolean;
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
    const { operationsWithoutGateway } = await import("../../admin/routes/without-gateway.ts");
    const opened = new AsyncDisposableStack();
    try {
      const store = await (address === null
        ? openFolder(dir, terminal, locks)
        : openStore({ location: address, clock: systemClock, role: "operator", migrates: false }));
      opened.defer(() => store.close());
      const content = here.content ? await openContent({ dir }, options, terminal) : null;
      if (content !== null) opened.defer(() => content.close());
      const { loadSettings } = await import("../../config/load.ts");
      const { env, cwd } = terminal;
      const operations = await operationsWithoutGateway({
        store,
        clock: systemClock,
        version,
        content: content && callsOf(content),
        settings: once(() => loadSettings({ file: options.config, env, cwd }).settings),
        knownNames: () => knownNames(options, dir, terminal),
        noGateway: `no gateway runs on ${dir}, which would have to do it`,
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

/** A gateway calls the same on its thread. */
function callsOf(archive: ContentArchive): ArchiveCalls {
  return {
    read: (id) => archive.read(id),
    list: (page) => archive.list(page),
    exportLines: (page) => archive.exportLines(page),
    delete: (filter) => archive.store.delete(filter),
    sizes: () => archive.store.sizes(),
    clean: async (text) => cleanJson(text, knownSecrets().all()),
  };
}
