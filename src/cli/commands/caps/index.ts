import { type Command, InvalidArgumentError } from "commander";
import type {
  CapByValueView,
  CapDetailView,
  CapValueView,
  ListedCapView,
  NearValueView,
  NewCapBody,
} from "../../../admin/caps/schema.ts";
import { isLabelName } from "../../../base/requests/labels.ts";
import { plural } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type CsvOption, type DataOptions, group, newDataCommand, withCsv } from "../../help.ts";
import { segment } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { facts, type ListColumn, listTable, printList } from "../../terminal/list.ts";
import { printJson, type Terminal, utcMinute } from "../../terminal/terminal.ts";

/** Limits that follow people, end users and tags. */
export function capsCommands(terminal: Terminal): Command {
  return group("caps", "Limit what each owner, end user or tag spends", [
    addCommand(terminal),
    listCommand(terminal),
    showCommand(terminal),
    updateCommand(terminal),
    raiseCommand(terminal),
    removeCommand(terminal),
  ]);
}

const pathOf = (id: string) => `/caps${segment(id)}`;

type Written = Pick<NewCapBody, "limit" | "period"> & { readonly models: string | null };

function writtenCap(text: string): Written {
  const [, amount, period, models] = /^(\d+(?:\.\d{1,9})?)\/(day|week|month)(?::(.+))?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new InvalidArgumentError("Use a cap such as 20/day or '40/month:claude-opus-*'.");
  return { limit: Number(amount), period: period as Written["period"], models: models ?? null };
}

function wholeNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 10_000) return Number(text);
  throw new InvalidArgumentError("Use a number from 1 to 10000.");
}

function amountAboveZero(text: string): number {
  if (/^\d+(\.\d{1,9})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Use an amount above 0, such as 20 or 0.5.");
}

function countedLabel(text: string): string {
  if (text === "owner" || (isLabelName(text) && text !== "session")) return text;
  throw new InvalidArgumentError("Use owner, user or tag:NAME.");
}

function shareOf(text: string): number {
  const [, percent] = /^(\d{1,3})%?$/.exec(text) ?? [];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100;
  throw new InvalidArgumentError("Use a share such as 80%.");
}

type AddOptions = DataOptions &
  Omit<NewCapBody, "limit" | "period" | "models" | "then_always"> & { readonly thenAlways?: boolean };

const thenAlwaysText = "even if they continue a stored response, or the denied model has their prompt cached";

function addCommand(terminal: Terminal): Command {
  return newDataCommand("add", "Limit what each value of a label, or one of them, spends")
    .argument("<cap>", "20/day, 100/week or '40/month:claude-opus-*', in credits or tokens", writtenCap)
    .option("--each <label>", "count each value separately: owner, user or tag:NAME", countedLabel)
    .option("--owner <owner>", "only the keys of this owner")
    .option("--user <user>", "only this end user")
    .option("--tag <name=value>", "only requests with this tag")
    .option("--key <key>", "within one key")
    .option("--account <account>", "within one account")
    .option("--mode <mode>", "without --key and --account: credit or token_budget (default: credit)", modeOf)
    .option("--optional", "count requests without the label together, instead of rejecting them")
    .option("--values <n>", "how many values to count in a period (default: 10000)", wholeNumber)
    .option("--then <model>", "run requests that it denies on this model, instead of rejecting them")
    .option("--then-always", thenAlwaysText)
    .examples(
      ["sluice caps add 20/day --each owner", "every person, over all their keys and accounts"],
      ["sluice caps add 60/day --owner ada@example.com", "one person more"],
      ["sluice caps add 0.50/day --each user --key slu_8fK2mQ0x", "every end user of a product"],
      ["sluice caps add 500/month --tag project=atlas", "a project, over all keys"],
      [
        "sluice caps add '40/month:claude-opus-*' --each owner --then claude-sonnet-5",
        "then a cheaper model",
      ],
    )
    .action(
      async (
        cap: Written,
        {
          each,
          owner,
          user,
          tag,
          key,
          account,
          mode,
          optional,
          values,
          then: thenModel,
          thenAlways: then_always,
          ...options
        }: AddOptions,
      ) => {
        const labelled = { each, owner, user, tag, key, account, mode, optional, values };
        const given = Object.entries({ ...labelled, then: thenModel, then_always });
        const body = { ...cap, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) };
        await withOperations(terminal, options, { writes: true }, async (client) =>
          printCap(await client.post<CapDetailView>("/caps", body), "added", options, terminal),
        );
      },
    );
}

function modeOf(text: string): "credit" | "token_budget" {
  if (text === "credit" || text === "token_budget") return text;
  throw new InvalidArgumentError("Use credit or token_budget.");
}

function listCommand(terminal: Terminal): Command {
  return withCsv(
    newDataCommand("list", "List caps by owner, end user or tag, and the caps of keys and accounts"),
  )
    .option("--each <label>", "only caps that count each value of this label", countedLabel)
    .option(
      "--near <share>",
      "list values instead that have used this share of their limit, such as 80%",
      shareOf,
    )
    .examples("sluice caps list", "sluice caps list --near 80%")
    .action(async (options: DataOptions & CsvOption & { readonly each?: string; readonly near?: number }) => {
      await withOperations(terminal, options, {}, async (client) => {
        const { each: label, near } = options;
        const { data } = await client.get<{ data: ListedCapView[] }>("/caps");
        const chosen = data.filter(({ each }) => label === undefined || each === label);
        if (near !== undefined) {
          const ids = new Set(chosen.map(({ id }) => id));
          const { data: values } = await client.get<{ data: NearValueView[] }>("/cap-values", { near });
          const rows = values.filter(({ cap }) => ids.has(cap));
          const nothing = "Nothing is that near to its limit.";
          printList({ rows, columns: nearColumns, nothing }, options, terminal);
          return;
        }
        const nothing = "No caps. Add one with `sluice caps add`.";
        printList({ rows: chosen, columns, nothing }, options, terminal);
      });
    });
}

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
  { name: "limit", title: "LIMIT", ...right, cell: ({ limit }) => String(limit) },
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

function limitText({ limit, period, models }: Pick<CapByValueView, "limit" | "period" | "models">): string {
  return `${limit}/${period}${models === null ? "" : `:${models}`}`;
}

function countsText({ each, owner, user, tag }: Omit<CapByValueView, "id">): string {
  if (each !== null) return `each ${each}`;
  if (owner === null && user === null && tag === null) return "everything";
  return printable(owner === null ? (user === null ? `tag ${tag}` : `user ${user}`) : `owner ${owner}`);
}

function showCommand(terminal: Terminal): Command {
  return newDataCommand("show", "Show a cap, and the values that have used the most")
    .argument("<cap>", "the cap's id")
    .examples("sluice caps show cap_0f3K9xTz")
    .action(async (id: string, options: DataOptions) => {
      await withOperations(terminal, options, {}, async (client) =>
        printCap(await client.get<CapDetailView>(pathOf(id)), null, options, terminal),
      );
    });
}

interface UpdateOptions extends DataOptions {
  readonly limit?: Written;
  readonly values?: number;
  readonly then?: string;
  readonly thenAlways?: boolean;
}

function updateCommand(terminal: Terminal): Command {
  return newDataCommand("update", "Change a cap's limit, what runs beyond it, or how many values it counts")
    .argument("<cap>", "the cap's id")
    .option("--limit <cap>", "20/day, 100/week or '40/month:claude-opus-*'", writtenCap)
    .option("--values <n>", "how many values to count in a period", wholeNumber)
    .option("--then <model>", "run requests that it denies on this model; none to reject them")
    .option("--then-always", thenAlwaysText)
    .option("--no-then-always", "reject requests that are better off on the denied model")
    .examples("sluice caps update cap_0f3K9xTz --limit 30/day")
    .action(async (id: string, { limit, values, then: model, thenAlways, ...options }: UpdateOptions) => {
      const body = {
        ...limit,
        ...(values !== undefined && { values }),
        ...(model !== undefined && { then: model === "none" ? null : model }),
        ...(thenAlways !== undefined && { then_always: thenAlways }),
      };
      await withOperations(terminal, options, { writes: true }, async (client) =>
        printCap(await client.patch<CapDetailView>(pathOf(id), body), "updated", options, terminal),
      );
    });
}

interface RaiseOptions extends DataOptions {
  readonly value?: string;
  readonly note: string;
}

function raiseCommand(terminal: Terminal): Command {
  return newDataCommand("raise", "Raise a cap for its current period only")
    .argument("<cap>", "the cap's id")
    .argument("<amount>", "by how much, in credits or tokens", amountAboveZero)
    .option("--value <value>", "for one value only, such as ada@example.com")
    .requiredOption("--note <text>", "reason, for the audit log")
    .examples('sluice caps raise cap_0f3K9xTz 20 --value ada@example.com --note "release week"')
    .action(async (id: string, amount: number, { value, note, ...options }: RaiseOptions) => {
      const body = { amount, note, ...(value !== undefined && { value }) };
      await withOperations(terminal, options, { writes: true }, async (client) =>
        printCap(await client.post<CapDetailView>(`${pathOf(id)}/raise`, body), "raised", options, terminal),
      );
    });
}

function removeCommand(terminal: Terminal): Command {
  return newDataCommand("remove", "Remove a cap")
    .argument("<cap>", "the cap's id")
    .option("--yes", "skip confirmation")
    .examples("sluice caps remove cap_0f3K9xTz --yes")
    .action(async (id: string, options: DataOptions & YesOption) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        const cap = await client.get<CapDetailView>(pathOf(id));
        const what = `${limitText(cap)}, ${countsText(cap)}`;
        await confirm(`The cap ${id} (${what}) will be removed. Continue?`, options, terminal);
        printCap(await client.remove<CapDetailView>(pathOf(id)), "removed", options, terminal);
      });
    });
}

function printCap(cap: CapDetailView, done: string | null, { json }: DataOptions, terminal: Terminal): void {
  if (json) {
    printJson(cap, terminal);
    return;
  }
  const { style } = terminal;
  const parts = [
    facts(
      [
        ["cap", done === null ? cap.id : `${cap.id}  ${style.dim(done)}`],
        ["limit", `${limitText(cap)}, in ${cap.mode === "credit" ? "credits" : "tokens"}`],
        ["counts", `${countsText(cap)}${cap.optional ? ", and requests without it together" : ""}`],
        ["within", cap.key ?? cap.account ?? "everywhere"],
        cap.used === null
          ? ["values", `${cap.counted} of at most ${cap.values}`]
          : ["used", String(cap.used)],
        ["then", cap.then === null ? "rejected" : `${cap.then}${cap.then_always ? ", always" : ""}`],
        ["resets at", `${utcMinute(Date.parse(cap.resets_at))} UTC`],
      ],
      terminal,
    ),
  ];
  if (cap.used_by.length > 0) parts.push(listTable(valueColumns, cap.used_by, terminal));
  if (cap.notes.length > 0) parts.push(style.dim(cap.notes.join("\n")));
  terminal.print(parts.join("\n\n"));
}
