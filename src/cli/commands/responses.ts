import type { Command } from "commander";
import { plural } from "../../base/text/plural.ts";
import { size } from "../../base/text/size.ts";
import { confirm, type YesOption } from "../confirm.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../help.ts";
import { auditChange, withStore } from "../open-store.ts";
import { csvOf, csvOnly } from "../terminal/list.ts";
import { printJson, second, type Terminal } from "../terminal/terminal.ts";

interface KeyOption {
  readonly key: string;
}

export function responsesListCommand(terminal: Terminal): Command {
  return withCsv(
    newDataCommand("list", "Show number, size and age of a key's stored responses and conversations"),
  )
    .requiredOption("--key <key>", "the key, by id, prefix or label")
    .examples(["sluice responses list --key slu_8fK2mQ0x", "without their content"])
    .action(async (options: DataOptions & CsvOption & KeyOption) => {
      const { findKey } = await import("../../admin/keys/find-key.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { id, prefix } = await findKey(context, options.key);
        const sums = await context.store.turns.sums(id, Math.floor(context.clock.wallMs()));
        const [oldest, newest] = [sums.oldestAtMs, sums.newestAtMs];
        const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
        const { conversations, bytes } = sums;
        const responses = sums.count - conversations;
        const document = {
          key: prefix,
          responses,
          conversations,
          bytes,
          oldest: iso(oldest),
          newest: iso(newest),
        };
        if (options.json) printJson(document, terminal);
        else if (options.csv) terminal.print(csvOf(columns, [document]));
        else if (oldest === null || newest === null) {
          terminal.print(`${prefix} has no stored responses or conversations.`);
        } else {
          terminal.print(
            `${plural(responses, "response")} and ${plural(conversations, "conversation")} stored for ${prefix}, ` +
              `${size(bytes)}; ` +
              `oldest ${second(oldest)}, newest ${second(newest)}.`,
          );
        }
      });
    });
}

const columns = csvOnly("key", "responses", "conversations", "bytes", "oldest", "newest");

export function responsesDeleteCommand(terminal: Terminal): Command {
  return newDataCommand("delete", "Delete all stored responses and conversations of a key")
    .requiredOption("--key <key>", "the key, by id, prefix or label")
    .option("--yes", "skip confirmation")
    .examples(["sluice responses delete --key slu_8fK2mQ0x --yes", "in scripts"])
    .action(async (options: DataOptions & YesOption & KeyOption) => {
      const { findKey } = await import("../../admin/keys/find-key.ts");
      await withStore(terminal, options, {}, async (context) => {
        const key = await findKey(context, options.key);
        await confirm(
          `Clients of ${key.prefix} can no longer continue these conversations. Delete them?`,
          options,
          terminal,
        );
        const deleted = await context.store.turns.deleteAll(key.id);
        await auditChange(context, "response.delete_all", key, plural(deleted, "response"));
        if (options.json) printJson({ key: key.prefix, deleted }, terminal);
        else {
          const what = plural(deleted, "response or conversation", "responses and conversations");
          terminal.print(`${what} of ${key.prefix} deleted.`);
        }
      });
    });
}
