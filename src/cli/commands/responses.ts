import type { Command } from "commander";
import type { KeyView } from "../../admin/keys/schema.ts";
import type { DeletedResponsesView, StoredResponsesView } from "../../admin/responses/routes.ts";
import { plural } from "../../base/text/plural.ts";
import { size } from "../../base/text/size.ts";
import { confirm, type YesOption } from "../confirm.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../help.ts";
import { segment } from "../operations/client.ts";
import { withOperations } from "../operations/with-operations.ts";
import { csvOf, csvOnly } from "../terminal/list.ts";
import { printJson, second, type Terminal } from "../terminal/terminal.ts";

interface KeyOption {
  readonly key: string;
}

export function responsesListCommand(terminal: Terminal): Command {
  return withCsv(
    newOperationCommand("list", "Show number, size and age of a key's stored responses and conversations"),
  )
    .requiredOption("--key <key>", "the key, by id, prefix or label")
    .examples(["sluice responses list --key slu_8fK2mQ0x", "without their content"])
    .action(async (options: DataOptions & CsvOption & KeyOption) => {
      await withOperations(terminal, options, {}, async (client) => {
        const document = await client.get<StoredResponsesView>("/responses", { key: options.key });
        const { key, responses, conversations, bytes, oldest, newest } = document;
        if (options.json) printJson(document, terminal);
        else if (options.csv) terminal.print(csvOf(columns, [document]));
        else if (oldest === null || newest === null) {
          terminal.print(`${key} has no stored responses or conversations.`);
        } else {
          terminal.print(
            `${plural(responses, "response")} and ${plural(conversations, "conversation")} stored for ${key}, ` +
              `${size(bytes)}; ` +
              `oldest ${second(Date.parse(oldest))}, newest ${second(Date.parse(newest))}.`,
          );
        }
      });
    });
}

const columns = csvOnly("key", "responses", "conversations", "bytes", "oldest", "newest");

export function responsesDeleteCommand(terminal: Terminal): Command {
  return newOperationCommand("delete", "Delete all stored responses and conversations of a key")
    .requiredOption("--key <key>", "the key, by id, prefix or label")
    .option("--yes", "skip confirmation")
    .examples(["sluice responses delete --key slu_8fK2mQ0x --yes", "in scripts"])
    .action(async (options: DataOptions & YesOption & KeyOption) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        const { prefix } = await client.get<KeyView>(`/keys${segment(options.key)}`);
        const question = `Clients of ${prefix} can no longer continue these conversations. Delete them?`;
        await confirm(question, options, terminal);
        const { key, deleted } = await client.remove<DeletedResponsesView>("/responses", { key: prefix });
        if (options.json) printJson({ key, deleted }, terminal);
        else {
          const what = plural(deleted, "response or conversation", "responses and conversations");
          terminal.print(`${what} of ${key} deleted.`);
        }
      });
    });
}
