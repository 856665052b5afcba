import type { Command } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { loadAndWarn } from "../../load-settings.ts";
import { CommandError, printDone, type Terminal } from "../../terminal/terminal.ts";

export function alertsTestCommand(terminal: Terminal): Command {
  return newConfigCommand("test", "Post a test alert to the webhook of [alerts]")
    .examples(["sluice alerts test", "exit status 1 when it is not accepted"])
    .action(async (options: ConfigOptions) => {
      const { postToHook, testAlert } = await import("../../../alerts/hook.ts");
      const { alerts, server } = await loadAndWarn(options, terminal);
      if (alerts === null)
        throw new CommandError(
          "alerts are off: the configuration has no [alerts] url, or its value is not set",
        );
      const nowMs = systemClock.wallMs();
      const problem = await postToHook(alerts, testAlert(server.node, nowMs), nowMs);
      if (problem !== null) throw new CommandError(`the alert was not delivered: the webhook ${problem}`);
      const signed = alerts.secret !== null;
      const message = `the webhook accepted a ${signed ? "signed " : ""}test alert`;
      printDone(options.json, { delivered: true, signed }, message, terminal);
    });
}
