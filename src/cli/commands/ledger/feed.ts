import { InvalidArgumentError } from "commander";
import type { FeedEntryView, FeedView, PushView, VerifyView } from "../../../admin/feed/schema.ts";
import { iso } from "../../../admin/moments.ts";
import { nanoFromExact } from "../../../base/money/money.ts";
import { plural } from "../../../base/text/plural.ts";
import { cursorPattern } from "../../../feed/entry-document.ts";
import { atLeastZero, pageSize, since } from "../../arguments.ts";
import { commandGroup, option, requiredOption } from "../../help.ts";
import { operation } from "../../operations/operation-command.ts";
import { csvOf, type Facts, facts, type ListColumn, listTable, timeColumn } from "../../terminal/list.ts";
import { second, type Terminal } from "../../terminal/terminal.ts";

function cursor(text: string): string {
  if (new RegExp(cursorPattern).test(text)) return text;
  throw new InvalidArgumentError("Use a cursor of the feed, such as 12.vOq0yX6mJc2dQf1K.");
}

/** Stays text: as a number it could lose digits. */
function total(text: string): string {
  if (nanoFromExact(text) !== null) return text;
  throw new InvalidArgumentError("Use an amount of credits with at most nine decimals, such as -12.5.");
}

const sinceOption = option(
  "--since <when>",
  "begin at this time instead: 24h, 7d, 2026-10, a date or a time",
  (text) => iso(since(text)),
);

const columns: readonly ListColumn<FeedEntryView>[] = [
  timeColumn("at", "AT (UTC)", second),
  { name: "kind", title: "KIND" },
  { name: "account_id", title: "ACCOUNT", elastic: true, cell: (row) => row.account_label ?? row.account_id },
  { name: "key_id", title: "KEY", elastic: true, cell: (row) => row.key_label ?? row.key_id ?? "" },
  { name: "owner" },
  { name: "user" },
  { name: "tags", value: ({ tags }) => JSON.stringify(tags) },
  { name: "request_id" },
  { name: "model", title: "MODEL", cell: ({ model }) => model ?? "" },
  { name: "requested_model" },
  { name: "amount", title: "AMOUNT", align: "right" },
  { name: "unit", title: "UNIT" },
  { name: "credits" },
  { name: "cursor", title: "CURSOR" },
];

/** For testing billing and other programs that follow the ledger. */
export const ledgerFeedCommands = commandGroup(
  "feed",
  "Read the ledger's feed, and verify that a program has all of it",
  [
    operation<FeedView, { after?: string; since?: string; limit?: number }>({
      name: "list",
      summary: "List entries after a cursor or a time, oldest first",
      call: "GET /ledger/feed",
      fields: {
        after: option(
          "--after <cursor>",
          "the last entry that you have (default: begin at the first)",
          cursor,
        ),
        since: sinceOption,
        limit: option("--limit <n>", "1 to 1000 entries (default: 100)", pageSize),
      },
      examples: ["sluice ledger feed list --limit 10", "sluice ledger feed list --json | jq .next_cursor"],
      csv: ({ data }) => csvOf(columns, data),
      show: ({ data }, { terminal }) =>
        terminal.print(data.length === 0 ? "No entries follow." : listTable(columns, data, terminal)),
    }),
    operation<VerifyView, { through: string; count: number; total: string; after?: string; since?: string }>({
      name: "verify",
      summary: "Compare your number of entries and their sum with the ledger",
      call: "GET /ledger/feed/verify",
      fields: {
        through: requiredOption("--through <cursor>", "the cursor of the last entry that you have", cursor),
        count: requiredOption("--count <n>", "how many entries you have through it", atLeastZero),
        total: requiredOption("--total <credits>", "the sum of their `credits`", total),
        after: option(
          "--after <cursor>",
          "your entries begin after this one (default: at the first)",
          cursor,
        ),
        since: sinceOption,
      },
      examples: [
        [
          "sluice ledger feed verify --through 1205.vOq0yX6mJc2dQf1K --count 1205 --total 812.5",
          "exit status 1 when anything differs",
        ],
      ],
      hasFailed: ({ ok }) => !ok,
      show({ ok, given, ledger }, { given: { through }, terminal }) {
        const of = (sums: VerifyView["given"]) =>
          `${plural(sums.count, "entry", "entries")}, ${sums.total} credits`;
        const { good, bad } = terminal.style;
        if (ok) terminal.print(`${good("✓")} you have all of ${of(ledger)} through ${through}`);
        else
          terminal.print(
            `${bad("✗")} you have ${of(given)}; the ledger has ${of(ledger)} through ${through}`,
          );
      },
    }),
    operation<PushView>({
      name: "status",
      summary: "Show how far the feed has been pushed to its receiver",
      call: "GET /ledger/feed/push",
      examples: ["sluice ledger feed status"],
      show: (push, { terminal }) => terminal.print(pushFacts(push, terminal)),
    }),
    operation<PushView>({
      name: "resume",
      summary: "Send again after the receiver has rejected a post",
      call: "POST /ledger/feed/resume",
      examples: ["sluice ledger feed resume"],
      done: ({ state }) =>
        state === "not_begun"
          ? "Nothing has been pushed yet; it starts when [feed] has a url."
          : "The feed is being sent again.",
    }),
  ],
);

function pushFacts(push: PushView, terminal: Terminal): string {
  const { good, warn, bad } = terminal.style;
  const state = {
    not_begun: "nothing has been pushed; set [feed] url in the configuration to begin",
    sending: good("sending"),
    retrying: warn("retrying"),
    stopped: bad("stopped: correct the receiver, then run `sluice ledger feed resume`"),
  }[push.state];
  const at = (time: string | null) => (time === null ? "–" : second(time));
  const rows: Facts = [
    ["state", state],
    ["accepted through", push.through ?? "–"],
    ["accepted at (UTC)", at(push.accepted_at)],
    [
      "waiting",
      push.waiting_since
        ? `${plural(push.waiting, "entry", "entries")}, since ${at(push.waiting_since)}`
        : "0 entries",
    ],
    push.problem !== null && ["last post", `${push.problem} (${plural(push.attempts, "attempt")})`],
    push.next_attempt_at !== null && ["next attempt (UTC)", at(push.next_attempt_at)],
  ];
  return facts(rows, terminal);
}
