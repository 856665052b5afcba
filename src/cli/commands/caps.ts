import { InvalidArgumentError } from "commander";
import type {
  CapByValueView,
  CapChangesBody,
  CapDetailView,
  CapValueView,
  ListedCapView,
  NearValueView,
  NewCapBody,
} from "../../admin/caps/schema.ts";
import { keyModes } from "../../base/key-attributes.ts";
import { canBeCapped } from "../../base/requests/labels.ts";
import { plural } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import { aboveZero, removed, valueLimit } from "../arguments.ts";
import { argument, choiceOption, commandGroup, option, requiredOption } from "../help.ts";
import { segment } from "../operations/client.ts";
import { list, type OperationEntry, operation } from "../operations/operation-command.ts";
import { facts, type ListColumn, listTable } from "../terminal/list.ts";
import { type Terminal, utcMinute } from "../terminal/terminal.ts";

/** Without `models` a new cap counts all of them, and a changed one those that it had. */
type Written = Pick<NewCapBody, "limit" | "period" | "models">;

function writtenCap(text: string): Written {
  const [, amount, period, models] = /^(\d+(?:\.\d{1,9})?)\/(day|week|month)(?::(.+))?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new InvalidArgumentError("Use a cap such as 20/day or '40/month:claude-opus-*'.");
  return { limit: Number(amount), period: period as Written["period"], ...(models && { models }) };
}

const writtenCaps = "20/day, 100/week or '40/month:claude-opus-*'";

function countedLabel(text: string): string {
  if (canBeCapped(text)) return text;
  throw new InvalidArgumentError("Use owner, user or tag:NAME.");
}

function shareOf(text: string): number {
  const [, percent] = /^(\d{1,3})%?$/.exec(text) ?? [];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100;
  throw new InvalidArgumentError("Use a share from 0 to 100%, such as 80%.");
}

const cap = argument("<cap>", "the cap's id");
const thenAlwaysText = "even if they continue a stored response, or the denied model has their prompt cached";

/** Shows a cap, and what was done to it. */
function capCommand<Fields extends object>(
  done: string | null,
  entry: OperationEntry<CapDetailView, Fields>,
) {
  return operation<CapDetailView, Fields>({
    ...entry,
    show: (cap, { terminal }) => terminal.print(capText(cap, done, terminal)),
  });
}

const addCommand = capCommand<Omit<NewCapBody, keyof Written> & { limit: Written }>("added", {
  name: "add",
  summary: "Limit what each value of a label, or one of them, spends",
  call: "POST /caps",
  fields: {
    limit: argument("<cap>", `${writtenCaps}, in credits or tokens`, writtenCap),
    each: option("--each <label>", "count each value separately: owner, user or tag:NAME", countedLabel),
    owner: option("--owner <owner>", "only the keys of this owner"),
    user: option("--user <user>", "only this end user"),
    tag: option("--tag <name=value>", "only requests with this tag"),
    key: option("--key <key>", "within one key"),
    account: option("--account <account>", "within one account"),
    mode: choiceOption("mode", keyModes, "without --key and --account: what it counts (default: credit)"),
    optional: option("--optional", "count requests without the label together, instead of rejecting them"),
    values: option("--values <n>", "how many values to count in a period (default: 10000)", valueLimit),
    then: option("--then <model>", "run requests that it denies on this model, instead of rejecting them"),
    then_always: option("--then-always", thenAlwaysText),
  },
  examples: [
    ["sluice caps add 20/day --each owner", "every person, over all their keys and accounts"],
    ["sluice caps add 60/day --owner ada@example.com", "a higher limit for one person"],
    ["sluice caps add 0.50/day --each user --key slu_8fK2mQ0x", "every end user of a product"],
    ["sluice caps add 500/month --tag project=atlas", "a project, over all keys"],
    ["sluice caps add '40/month:claude-opus-*' --each owner --then claude-sonnet-5", "then a cheaper model"],
  ],
  input: ({ limit, ...fields }) => ({ ...fields, ...limit }),
});

type Near = { each?: string; near?: number };

const listCommand = list<ListedCapView | NearValueView, object, Near>({
  name: "list",
  summary: "List caps by owner, end user or tag, and the caps of keys and accounts",
  call: "GET /caps",
  extras: {
    each: option("--each <label>", "only caps that count each value of this label", countedLabel),
    near: option(
      "--near <share>",
      "list values instead that have used this share of their limit, such as 80%",
      shareOf,
    ),
  },
  examples: ["sluice caps list", "sluice caps list --near 80%"],
  async rows(caps, { given: { each: label, near }, client }) {
    const chosen = caps.filter((cap) => "id" in cap && (label === undefined || cap.each === label));
    if (near === undefined) return chosen;
    const ids = new Set(chosen.map((cap) => "id" in cap && cap.id));
    const values = await client.list<NearValueView>("/cap-values", { near });
    return values.filter(({ cap }) => ids.has(cap));
  },
  // The rows are of the one kind or the other.
  columns: (_, { given: { near } }) =>
    (near === undefined ? columns : nearColumns) as readonly ListColumn<ListedCapView | NearValueView>[],
  nothing: ({ given: { near } }) =>
    near === undefined ? "No caps. Add one with `sluice caps add`." : "No value is that near its limit.",
});

const right = { align: "right" } as const;

const columns: readonly ListColumn<ListedCapView>[] = [
  { name: "id", title: "CAP", cell: ({ id }) => id ?? "" },
  { name: "limit", title: "LIMIT", ...right, cell: limitText },
  { name: "each", title: "COUNTS", elastic: true, cell: countsText },
  { name: "then", title: "THEN", cell: ({ then: model }) => model ?? "" },
  { name: "key", title: "WITHIN", cell: ({ key, account }) => key ?? account ?? "everywhere" },
  {
    name: "used",
    title: "USED",
    ...right,
    cell: ({ used, counted }) => (used === null ? plural(counted, "value") : String(used)),
  },
];

const valueColumns: readonly ListColumn<CapValueView>[] = [
  { name: "cap", title: "CAP" },
  { name: "value", title: "VALUE", elastic: true, cell: ({ value }) => printable(value ?? "(none)") },
  { name: "used", title: "USED", ...right, cell: ({ used }) => String(used) },
  { name: "limit", title: "LIMIT", ...right, cell: (row) => `${row.limit}${raisedText(row)}` },
  { name: "left", title: "LEFT", ...right, cell: ({ left }) => String(left) },
];

const nearColumns: readonly ListColumn<NearValueView>[] = [
  { name: "cap", title: "CAP", cell: ({ cap, key, account }) => cap ?? key ?? account ?? "" },
  {
    name: "value",
    title: "VALUE",
    elastic: true,
    cell: ({ value, label }) => (label === null ? "everything" : printable(value ?? "(none)")),
  },
  { name: "used", title: "USED", ...right, cell: ({ used }) => String(used) },
  { name: "limit", title: "LIMIT", ...right, cell: limitText },
  { name: "left", title: "LEFT", ...right, cell: ({ left }) => String(left) },
];

function raisedText({ raised_by: amount }: Pick<CapValueView, "raised_by">): string {
  return amount === 0 ? "" : `, raised by ${amount}`;
}

function limitText({ limit, period, models }: Pick<CapByValueView, "limit" | "period" | "models">): string {
  return `${limit}/${period}${models === null ? "" : `:${models}`}`;
}

function countsText({ each, owner, user, tag }: Omit<CapByValueView, "id">): string {
  if (each !== null) return `each ${each}`;
  if (owner === null && user === null && tag === null) return "everything";
  return printable(owner === null ? (user === null ? `tag ${tag}` : `user ${user}`) : `owner ${owner}`);
}

const showCommand = capCommand<{ cap: string }>(null, {
  name: "show",
  summary: "Show a cap, and the values that have used the most",
  call: "GET /caps/:cap",
  fields: { cap },
  examples: ["sluice caps show cap_0f3K9xTz"],
});

interface Changes extends Omit<CapChangesBody, keyof Written> {
  readonly cap: string;
  readonly limit?: Written;
}

const updateCommand = capCommand<Changes>("updated", {
  name: "update",
  summary: "Change a cap's limit, what runs beyond it, or how many values it counts",
  call: "PATCH /caps/:cap",
  fields: {
    cap,
    limit: option("--limit <cap>", `${writtenCaps}; its models stay unless you pass others`, writtenCap),
    values: option("--values <n>", "how many values to count in a period", valueLimit),
    then: option(
      "--then <model>",
      "run requests that it denies on this model; none to reject them",
      (model) => (model === "none" ? removed : model),
    ),
    then_always: [
      option("--then-always", thenAlwaysText),
      option("--no-then-always", "reject requests that continue a stored response or have a cached prompt"),
    ],
  },
  examples: ["sluice caps update cap_0f3K9xTz --limit 30/day"],
  input: ({ cap: _, limit, ...fields }) => ({ ...fields, ...limit }),
});

const raiseCommand = capCommand<{ cap: string; amount: number; value?: string; note: string }>("raised", {
  name: "raise",
  summary: "Raise a cap for its current period only",
  call: "POST /caps/:cap/raise",
  fields: {
    cap,
    amount: argument("<amount>", "by how much, in credits or tokens", aboveZero),
    value: option("--value <value>", "for one value only, such as ada@example.com"),
    note: requiredOption("--note <text>", "reason, for the audit log"),
  },
  examples: ['sluice caps raise cap_0f3K9xTz 20 --value ada@example.com --note "release week"'],
});

const removeCommand = capCommand<{ cap: string }>("removed", {
  name: "remove",
  summary: "Remove a cap",
  call: "DELETE /caps/:cap",
  fields: { cap },
  examples: ["sluice caps remove cap_0f3K9xTz --yes"],
  async asks({ given: { cap: id }, client }) {
    const cap = await client.get<CapDetailView>(`/caps${segment(id)}`);
    return `The cap ${id} (${limitText(cap)}, ${countsText(cap)}) will be removed. Continue?`;
  },
});

/** Limits that follow people, end users and tags. */
export const capsCommands = commandGroup("caps", "Limit what each owner, end user or tag spends", [
  addCommand,
  listCommand,
  showCommand,
  updateCommand,
  raiseCommand,
  removeCommand,
]);

function capText(cap: CapDetailView, done: string | null, terminal: Terminal): string {
  const { style } = terminal;
  const parts = [
    facts(
      [
        ["cap", done === null ? cap.id : `${cap.id}  ${style.dim(done)}`],
        ["limit", `${limitText(cap)}, in ${cap.mode === "credit" ? "credits" : "tokens"}${raisedText(cap)}`],
        ["counts", `${countsText(cap)}${cap.optional ? ", and requests without it together" : ""}`],
        ["within", cap.key ?? cap.account ?? "everywhere"],
        cap.used === null
          ? ["values", `${cap.counted} of at most ${cap.values}`]
          : ["used", String(cap.used)],
        ["then", cap.then === null ? "rejected" : `${cap.then}${cap.then_always ? ", always" : ""}`],
        ["resets at", `${utcMinute(cap.resets_at)} UTC`],
      ],
      terminal,
    ),
  ];
  if (cap.used_by.length > 0) parts.push(listTable(valueColumns, cap.used_by, terminal));
  if (cap.notes.length > 0) parts.push(style.dim(cap.notes.join("\n")));
  return parts.join("\n\n");
}
