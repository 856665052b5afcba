import type { Settings } from "../../config/settings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { showWarnings } from "../warnings.ts";
import type { ServiceManager } from "./service-manager.ts";
import { leaveTraces } from "./traces.ts";

interface Reloadable {
  reload(settings: Settings): void;
}

/** SIGHUP reads the configuration again. A bad one is told and not taken: the old one stays in force. */
export function reloadOnHangup(
  first: Settings,
  running: Reloadable,
  load: () => Promise<Settings>,
  terminal: Terminal,
  manager: ServiceManager,
): void {
  process.on("SIGHUP", async () => {
    manager.reloading();
    try {
      const settings = await load();
      running.reload(settings);
      leaveTraces(settings, terminal);
      showWarnings([...settings.warnings, ...needRestart(first, settings)], terminal);
      terminal.note("the new configuration is in force");
      manager.ready("the new configuration is in force");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      terminal.note(`${terminal.noteStyle.bad("error:")} the old configuration stays in force: ${reason}`);
      manager.ready("the new configuration was refused, the old one stays in force; see the log");
    }
  });
}

/** What is decided once, when the gateway opens its port and its data. */
function needRestart(first: Settings, next: Settings): string[] {
  const fixed = ["host", "port", "dataDir"] as const;
  return fixed
    .filter((name) => first.server[name] !== next.server[name])
    .map((name) => `server.${name === "dataDir" ? "data" : name} has changed; that takes a restart`);
}
