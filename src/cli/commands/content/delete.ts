import { filterText } from "../../../admin/content/content.ts";
import { iso } from "../../../admin/moments.ts";
import { plural } from "../../../base/text/plural.ts";
import { pastTime } from "../../arguments.ts";
import { argument, option } from "../../help.ts";
import { operation } from "../../operations/operation-command.ts";

interface DeletedFields {
  readonly ids: readonly string[];
  readonly key?: string;
  readonly owner?: string;
  readonly before?: string;
}

export const contentDeleteCommand = operation<{ deleted: number }, DeletedFields>({
  name: "delete",
  summary: "Delete recorded content",
  call: "DELETE /content",
  content: () => "rows",
  fields: {
    ids: argument("[ids...]", "the ids of requests"),
    key: option("--key <key>", "all requests of this key, by id, prefix or label"),
    owner: option("--owner <name>", "all requests of this owner's keys"),
    before: option("--before <when>", "all requests that started before this time", (text) =>
      iso(pastTime(text)),
    ),
  },
  examples: [
    ["sluice content delete req_0f3K9xTz --yes", "one request"],
    ["sluice content delete --owner ada@example.com", "everything of one person"],
  ],
  input: ({ ids, ...filters }) => ({ ...filters, ...(ids.length > 0 && { ids: ids.join(",") }) }),
  asks({ given }) {
    const what = filterText(given);
    return what === "all" ? null : `This permanently deletes recorded content (${what}). Delete it?`;
  },
  done: ({ deleted }) => `The content of ${plural(deleted, "request")} is deleted.`,
});
