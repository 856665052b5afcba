import type { Command } from "commander";
import { count } from "../../../base/text/plural.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type DataOptions, newMachineCommand } from "../../help.ts";
import { withContent } from "../../open-content.ts";
import { auditChange, type StoreContext, withStore } from "../../open-store.ts";
import { startProgress } from "../../terminal/progress.ts";
import { CommandError, printDone, type Terminal } from "../../terminal/terminal.ts";

interface RekeyOptions extends DataOptions, YesOption {
  readonly newKey: string;
}

export function contentRekeyCommand(terminal: Terminal): Command {
  return newMachineCommand("rekey", "Encrypt recorded content with another key, while no gateway runs")
    .requiredOption("--new-key <reference>", "the new key: `env:NAME` or `file:/path`, 32 bytes in base64")
    .option("--yes", "skip confirmation")
    .examples(["sluice content rekey --new-key env:NEW_CONTENT_KEY", "then set content.key to it"])
    .action(async (options: RekeyOptions) => {
      const { locateContentKey } = await import("../../../config/content.ts");
      const { env, cwd } = terminal;
      const key = locateContentKey({ file: options.config, env, cwd }, options.newKey);
      if (key === null) throw new CommandError("the new key is not set");
      await withStore(terminal, options, async (context) => {
        await rejectRunning(context);
        await confirm(
          "Afterwards gateways need the new key. Re-encrypt all content with it?",
          options,
          terminal,
        );
        const progress = startProgress(terminal);
        try {
          await withContent(context, options, terminal, (archive) =>
            archive.rekey(key, (done, all) => progress.show(`${count(done)} of ${count(all)} requests`)),
          );
        } finally {
          progress.end();
        }
        await auditChange(context, "content.rekey", "");
        const message =
          "All content is encrypted with the new key. Set content.key to it before you start the gateway.";
        printDone(options.json, { rekeyed: true }, message, terminal);
      });
    });
}

/** A running gateway would continue with the old key. */
async function rejectRunning({ store, dir }: StoreContext): Promise<void> {
  const { isServed } = await import("../../../store/open-content.ts");
  const live =
    store.nodes === null ? [] : (await store.nodes.states()).filter(({ state }) => state !== "dead");
  if (live.length > 0 || (store.nodes === null && (await isServed(dir))))
    throw new CommandError("a gateway is running with the old key; stop it first");
}
