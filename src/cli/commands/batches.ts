import type { BatchView, DeletedFiles, FileView } from "../../admin/batches/schema.ts";
import type { KeyView } from "../../admin/key-terms/schema.ts";
import { count, plural } from "../../base/text/plural.ts";
import { size } from "../../base/text/size.ts";
import { argument, choiceOption, commandGroup, option, requiredOption } from "../help.ts";
import { segment } from "../operations/client.ts";
import { list, operation } from "../operations/operation-command.ts";
import { countColumn, type ListColumn, timeColumn } from "../terminal/list.ts";
import { utcMinute } from "../terminal/terminal.ts";

const batch = argument("<batch>", "the batch's id");

const states = ["open", "running", "waiting", "paused", "ended"] as const;

const columns: readonly ListColumn<BatchView>[] = [
  { name: "id", title: "ID" },
  { name: "key" },
  { name: "key_label", title: "KEY", elastic: true, cell: ({ key, key_label: label }) => label ?? key },
  { name: "endpoint", title: "ENDPOINT", elastic: true },
  { name: "status", title: "STATUS" },
  { name: "state", title: "STATE", cell: ({ state, reason }) => (reason ? `${state}: ${reason}` : state) },
  countColumn("completed", "DONE"),
  countColumn("failed", "FAILED"),
  countColumn("total", "TOTAL"),
  { name: "charged", title: "CHARGED", align: "right", cell: chargedText },
  { name: "estimate" },
  { name: "unit" },
  timeColumn("created_at", "CREATED (UTC)"),
  { name: "expires_at" },
  timeColumn("ended_at", "ENDED (UTC)"),
];

function chargedText({ charged, unit }: BatchView): string {
  return unit === "credits" ? String(charged) : `${count(charged)} tokens`;
}

function estimateText({ estimate, unit }: BatchView): string {
  if (estimate === null) return "";
  return `, ${unit === "credits" ? estimate : count(estimate)} ${unit} at most by its estimate`;
}

export const batchesCommands = commandGroup("batches", "List batches of clients, cancel or resume them", [
  list<BatchView, { key?: string; state?: string }>({
    name: "list",
    summary: "List batches, the newest first",
    call: "GET /batches",
    fields: {
      key: option("--key <key>", "only of this key, by id, prefix or label"),
      state: choiceOption("state", states, "only batches in this state; open: all that have not ended"),
    },
    examples: [["sluice batches list --state open", "what runs, and what waits for credit"]],
    columns,
    nothing: "No batches.",
  }),
  operation<BatchView, { batch: string }>({
    name: "show",
    summary: "Show a batch",
    call: "GET /batches/:batch",
    fields: { batch },
    examples: ["sluice batches show batch_2f8K1mQ0xYbTn3LwVz7Cde"],
    show(view, { terminal }) {
      const { id, key, endpoint, status, state, reason, total, completed, failed } = view;
      const why = reason === null ? "" : ` (${reason})`;
      terminal.print(`${id} of ${key} calls ${endpoint}: ${status}, ${state}${why}.`);
      terminal.print(
        `${count(completed)} of ${plural(total, "line")} completed, ${count(failed)} failed; charged ${chargedText(view)}${view.unit === "credits" ? " credits" : ""}${estimateText(view)}.`,
      );
      const end =
        view.ended_at === null
          ? `expires ${utcMinute(view.expires_at)}`
          : `ended ${utcMinute(view.ended_at)}`;
      terminal.print(`Created ${utcMinute(view.created_at)}, ${end} (UTC).`);
    },
  }),
  operation<BatchView, { batch: string }>({
    name: "cancel",
    summary: "Cancel a batch: lines that run are charged, others never start",
    call: "POST /batches/:batch/cancel",
    fields: { batch },
    examples: [["sluice batches cancel batch_2f8K1mQ0xYbTn3LwVz7Cde --yes", "in scripts"]],
    asks: ({ given }) => `Lines of ${given.batch} that have not started will never run. Cancel it?`,
    done: ({ id, status }) => `${id} is ${status}.`,
  }),
  operation<BatchView, { batch: string }>({
    name: "resume",
    summary: "Let a batch run on that a restore or a copy has paused",
    call: "POST /batches/:batch/resume",
    fields: { batch },
    examples: ["sluice batches resume batch_2f8K1mQ0xYbTn3LwVz7Cde"],
    note: "Lines that ran after the backup run again, and are charged again.",
    done: ({ id }) => `${id} runs on.`,
  }),
]);

const ofKey = { key: requiredOption("--key <key>", "the key, by id, prefix or label") };

export const filesCommands = commandGroup("files", "List or delete files that clients uploaded for batches", [
  list<FileView, { key: string }>({
    name: "list",
    summary: "List the files of a key, results of batches among them",
    call: "GET /files",
    fields: ofKey,
    examples: [["sluice files list --key slu_8fK2mQ0x", "without their content"]],
    columns: [
      { name: "id", title: "ID" },
      { name: "purpose", title: "PURPOSE" },
      { name: "batch", title: "BATCH" },
      { name: "bytes", title: "SIZE", align: "right", cell: ({ bytes }) => size(bytes) },
      timeColumn("created_at", "CREATED (UTC)"),
      timeColumn("expires_at", "EXPIRES (UTC)"),
    ],
    nothing: ({ given }) => `${given.key} has no files.`,
  }),
  operation<DeletedFiles, { key: string }>({
    name: "delete",
    summary: "Delete all files of a key, except those that unfinished batches use",
    call: "DELETE /files",
    fields: ofKey,
    examples: [["sluice files delete --key slu_8fK2mQ0x --yes", "in scripts"]],
    async asks({ given, client }) {
      const { prefix } = await client.get<KeyView>(`/keys${segment(given.key)}`);
      return `Clients of ${prefix} can no longer download these results. Delete them?`;
    },
    done: ({ key, deleted }) => `${plural(deleted, "file")} of ${key} deleted.`,
  }),
]);
