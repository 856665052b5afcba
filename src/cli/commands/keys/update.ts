import type { Command } from "commander";
import type { WrittenCap } from "../../../admin/operations/cap-text.ts";
import { auditChange } from "../../audit.ts";
import { capOption } from "../../cap-options.ts";
import { Misuse } from "../../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { attributesFromOptions, keyOptions } from "../../key-options.ts";
import { showKey } from "../../key-output.ts";
import { knownNames } from "../../known-names.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export function keysUpdateCommand(terminal: Terminal): Command {
  const command = newDataCommand("update", "Change a key's label, limits, scope or expiry")
    .argument("<key>", "its id, prefix or label")
    .addHelpText(
      "after",
      examples(
        ["sluice keys update slu_8fK2mQ0x --rpm 120 --models gpt-5.6,demo-small", ""],
        ["sluice keys update slu_8fK2mQ0x --expires 30d", "also brings an expired key back"],
      ),
    )
    .addOption(capOption("cap", "takes the place of all its caps: 5/day, 20/week:claude-opus-*; repeatable"))
    .action(async (name: string, options: DataOptions & { readonly cap?: readonly WrittenCap[] }) => {
      const update = { ...attributesFromOptions(options), caps: options.cap };
      if (Object.values(update).every((value) => value === undefined)) {
        throw new Misuse("name what to change, such as --label, --rpm or --expires");
      }
      const { updateKey } = await import("../../../admin/operations/update-key.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const known = knownNames(options, context.dir, terminal);
        const { key, detail } = await updateKey(context, name, update, known);
        await auditChange(context, "key.update", key, detail);
        const output = { done: "updated", json: options.json === true, place: context.place } as const;
        showKey(await readKeySummary(context, key), output, terminal);
      });
    });
  for (const option of Object.values(keyOptions("update"))) command.addOption(option);
  return command;
}
