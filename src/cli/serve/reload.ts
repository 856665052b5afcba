import type { CheckedConfig, ConfigOnDisk } from "../../config/on-disk.ts";
import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import type { ServiceManager } from "./service-manager.ts";

interface Reloadable {
  /** Returns the settings that did not take effect, in sentences. */
  reload(settings: Settings): Promise<readonly string[]>;
  reportRefusedReload(reason: string): void;
}

interface FileReaders {
  /** Throws a ConfigError. */
  load(): Promise<Settings>;
  check(): Promise<CheckedConfig>;
}

/**
 * Reloads the configuration: at SIGHUP, and when the admin API or a command asks. An invalid one is reported, and the old one
 * stays in force. Reloads run one after the other, so that the file read last wins.
 */
export class Reloads implements ConfigOnDisk {
  readonly check: FileReaders["check"];
  readonly #load: FileReaders["load"];
  readonly #terminal: Terminal;
  readonly #manager: ServiceManager;
  #running: Reloadable | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ load, check }: FileReaders, terminal: Terminal, manager: ServiceManager) {
    this.check = check;
    this.#load = load;
    this.#terminal = terminal;
    this.#manager = manager;
  }

  /** From now on reloads reach this gateway. */
  of(running: Reloadable): void {
    this.#running = running;
    process.on("SIGHUP", () => {
      // It has been reported.
      this.reload().catch(() => {});
    });
  }

  reload(): Promise<readonly string[]> {
    const reloaded = this.#last.then(() => this.#reloadNow());
    this.#last = reloaded.catch(() => {});
    return reloaded;
  }

  async #reloadNow(): Promise<readonly string[]> {
    const terminal = this.#terminal;
    this.#manager.reloading();
    try {
      const settings = await this.#load();
      const notInForce = (await this.#running?.reload(settings)) ?? [];
      showWarnings([...settings.warnings, ...notInForce], terminal);
      const told = `the new configuration is in force${notInForce.length === 0 ? "" : ", but for what is named above"}`;
      terminal.note(told);
      this.#manager.ready(told);
      return notInForce;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      terminal.note(`${terminal.noteStyle.bad("error:")} the old configuration stays in force: ${reason}`);
      this.#running?.reportRefusedReload(reason);
      this.#manager.ready("the new configuration was refused, the old one stays in force; see the log");
      throw error;
    }
  }
}
