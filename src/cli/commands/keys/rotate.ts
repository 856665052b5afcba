import type { Command } from "commander";
import { duration } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { confirm } from "../../confirm.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly grace: number;
  readonly yes?: true;
}

export function keysRotateCommand(terminal: Terminal): Command {
  return newDataCommand("rotate", "Give a key a new secret; balance, label and limits stay")
    .argument("<key>", "its id, prefix or label")
    .option(
      "--grace <time>",
      "how long the old secret still works, such as 24h (default: not at all)",
      duration,
      0,
    )
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        "sluice keys rotate slu_8fK2mQ0x --grace 24h",
        "a day to bring the new secret to every client",
      ]),
    )
    .action(async (name: string, options: Options) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      const { rotateKey } = await import("../../../admin/operations/rotate-key.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const { id, prefix } = await findKey(context, name);
        // A script rotates on purpose and reads the new secret; a user may have forgotten the grace period.
        if (options.grace === 0 && terminal.interactive) {
          await confirm(`The old secret of ${prefix} stops working at once. Rotate it?`, options, terminal);
        }
        const { key, secret, detail } = await rotateKey(context, id, options.grace);
        const output = {
          secret,
          done: "rotated",
          json: options.json === true,
          place: context.place,
        } as const;
        showKey(await readKeySummary(context, key), output, terminal);
        await auditChange(context, "key.rotate", key, detail);
      });
    });
}
