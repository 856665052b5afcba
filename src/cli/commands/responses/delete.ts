import type { Command } from "commander";
import { confirm, type YesOption } from "../../confirm.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { count, printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions, YesOption {
  readonly key: string;
}

export function responsesDeleteCommand(terminal: Terminal): Command {
  return newDataCommand("delete", "Delete all responses and conversations that are kept for a key")
    .requiredOption("--key <key>", "the key, by id, prefix or label")
    .option("--yes", "do not ask")
    .examples(["sluice responses delete --key slu_8fK2mQ0x --yes", "in scripts"])
    .action(async (options: Options) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      await withStore(terminal, options, {}, async (context) => {
        const key = await findKey(context, options.key);
        await confirm(`Clients of ${key.prefix} cannot continue from them. Delete them?`, options, terminal);
        const deleted = await context.store.turns.deleteAll(key.id);
        await auditChange(context, "response.delete_all", key, `${deleted} responses`);
        if (options.json) printJson({ key: key.prefix, deleted }, terminal);
        else terminal.print(`${count(deleted)} responses and conversations of ${key.prefix} are deleted.`);
      });
    });
}
