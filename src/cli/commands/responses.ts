import type { KeyView } from "../../admin/key-terms/schema.ts";
import type { DeletedResponsesView, StoredResponsesView } from "../../admin/responses/routes.ts";
import { plural } from "../../base/text/plural.ts";
import { size } from "../../base/text/size.ts";
import { commandGroup, requiredOption } from "../help.ts";
import { segment } from "../operations/client.ts";
import { operation } from "../operations/operation-command.ts";
import { csvOf, csvOnly } from "../terminal/list.ts";
import { second } from "../terminal/terminal.ts";

const columns = csvOnly("key", "responses", "conversations", "bytes", "oldest", "newest");
const fields = { key: requiredOption("--key <key>", "the key, by id, prefix or label") };

export const responsesCommands = commandGroup("responses", "List or delete stored responses", [
  operation<StoredResponsesView, { key: string }>({
    name: "list",
    summary: "Show number, size and age of a key's stored responses and conversations",
    call: "GET /responses",
    fields,
    examples: [["sluice responses list --key slu_8fK2mQ0x", "without their content"]],
    csv: (stored) => csvOf(columns, [stored]),
    show({ key, responses, conversations, bytes, oldest, newest }, { terminal }) {
      if (oldest === null || newest === null) {
        return terminal.print(`${key} has no stored responses or conversations.`);
      }
      terminal.print(
        `${plural(responses, "response")} and ${plural(conversations, "conversation")} stored for ${key}, ` +
          `${size(bytes)}; ` +
          `oldest ${second(oldest)}, newest ${second(newest)}.`,
      );
    },
  }),
  operation<DeletedResponsesView, { key: string }>({
    name: "delete",
    summary: "Delete all stored responses and conversations of a key",
    call: "DELETE /responses",
    fields,
    examples: [["sluice responses delete --key slu_8fK2mQ0x --yes", "in scripts"]],
    async asks({ given, client }) {
      const { prefix } = await client.get<KeyView>(`/keys${segment(given.key)}`);
      return `Clients of ${prefix} can no longer continue these conversations. Delete them?`;
    },
    show({ key, deleted }, { terminal }) {
      const what = plural(deleted, "response or conversation", "responses and conversations");
      terminal.print(`${what} of ${key} deleted.`);
    },
  }),
]);
