import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import type { ServiceManager } from "./service-manager.ts";

interface Reloadable {
  /** Returns the settings that did not take effect, in sentences. */
  reload(settings: Settings): Promise<readonly string[]>;
  reportRefusedReload(reason: string): void;
}

/** SIGHUP reloads the configuration. An invalid one is reported, and the old one stays in force. */
export function reloadOnHangup(
  running: Reloadable,
  load: () => Promise<Settings>,
  terminal: Terminal,
  manager: ServiceManager,
): void {
  const reload = async () => {
    manager.reloading();
    try {
      const settings = await load();
      const notInForce = await running.reload(settings);
      showWarnings([...settings.warnings, ...notInForce], terminal);
      const told = `the new configuration is in force${notInForce.length === 0 ? "" : ", but for what is named above"}`;
      terminal.note(told);
      manager.ready(told);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      terminal.note(`${terminal.noteStyle.bad("error:")} the old configuration stays in force: ${reason}`);
      running.reportRefusedReload(reason);
      manager.ready("the new configuration was refused, the old one stays in force; see the log");
    }
  };
  // Reloads run one after the other, so that the file read last wins.
  let last = Promise.resolve();
  process.on("SIGHUP", () => {
    last = last.then(reload);
  });
}
