import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { CapView, KeyView, ListedKeyView } from "../../../admin/key-terms/schema.ts";
import { utcDay } from "../../../base/clock.ts";
import { tpmText } from "../../../base/models/tpm-limit.ts";
import { knownUse, leftOfCap, tightestCap } from "../../../base/money/tightest-cap.ts";
import { ownAccountId } from "../../../base/own-account.ts";
import { tagsText } from "../../../base/requests/labels.ts";
import { count, shortCredits } from "../../../base/text/plural.ts";
import { balanceText } from "../../account-output.ts";
import { option } from "../../help.ts";
import { colorStatus } from "../../key-output.ts";
import type { OperationClient } from "../../operations/client.ts";
import { list } from "../../operations/operation-command.ts";
import { csvOnly, type ListColumn } from "../../terminal/list.ts";
import { fromNow, type Terminal } from "../../terminal/terminal.ts";

interface Owned {
  readonly owner?: string;
}

interface Search {
  readonly search?: string;
}

export const keysListCommand = list<ListedKeyView, Search, Owned>({
  name: "list",
  summary: "List all keys with their remaining balance",
  call: "GET /keys",
  fields: { search: option("--search <text>", "part of the label, or the start of the id or prefix") },
  extras: { owner: option("--owner <name>", "only this owner's keys") },
  examples: [
    "sluice keys list",
    "sluice keys list --search alice",
    "sluice keys list --json | jq -r '.[] | select(.status == \"expired\") | .id'",
  ],
  rows(newestFirst, { given }) {
    const owner = given.owner?.toLowerCase();
    return newestFirst
      .toReversed()
      .filter((key) => owner === undefined || key.owner?.toLowerCase() === owner);
  },
  columns: async (views, { client, terminal }) =>
    columnsOf(views, await labelsOfShared(views, client), Date.now(), terminal),
  nothing: ({ given }) => nothing(given),
});

/** The labels of accounts that several keys can share, by id; none are read if no key has one. */
async function labelsOfShared(
  views: readonly KeyView[],
  client: OperationClient,
): Promise<ReadonlyMap<string, string | null>> {
  if (views.every(isAlone)) return new Map();
  const accounts = await client.list<AccountView>("/accounts");
  return new Map(accounts.map(({ id, label }) => [id, label]));
}

function isAlone({ id, account }: KeyView): boolean {
  return account === ownAccountId(id);
}

function nothing({ search, owner }: Search & Owned): string {
  if (search === undefined && owner === undefined)
    return "No keys yet. Create one with `sluice keys create --mode credit --credit 5`.";
  const which = search === undefined ? "No keys" : `No keys match "${search}"`;
  return owner === undefined ? `${which}.` : `${which} of owner "${owner}".`;
}

function columnsOf(
  views: readonly KeyView[],
  names: ReadonlyMap<string, string | null>,
  nowMs: number,
  { style }: Terminal,
): readonly ListColumn<KeyView>[] {
  const none = style.dim("–");
  const right = { align: "right" } as const;
  const isAnyShared = !views.every(isAlone);
  const hasOwners = views.some(({ owner }) => owner !== null);
  return [
    { name: "id" },
    { name: "prefix", title: "KEY", cell: ({ prefix }) => style.bold(prefix) },
    { name: "label", title: "LABEL", elastic: true, cell: ({ label }) => label ?? none },
    {
      name: "owner",
      ...(hasOwners ? { title: "OWNER" } : {}),
      elastic: true,
      cell: ({ owner }) => owner ?? none,
    },
    {
      name: "account",
      ...(isAnyShared ? { title: "ACCOUNT" } : {}),
      elastic: true,
      cell: ({ id, account }) => (account === ownAccountId(id) ? none : (names.get(account) ?? account)),
    },
    { name: "mode", title: "MODE" },
    { name: "status", title: "STATUS", cell: ({ status }) => colorStatus(status, style) },
    { name: "left", title: "LEFT", ...right, value: leftOf, cell: left },
    { name: "balance", value: ({ credit }) => credit?.balance },
    { name: "purchased", value: ({ credit }) => credit?.purchased },
    { name: "used", value: ({ credit, budget }) => credit?.used ?? budget?.used },
    { name: "budget_tokens", value: ({ budget }) => budget?.tokens },
    { name: "period", value: ({ budget }) => budget?.period },
    {
      name: "rpm_limit",
      title: "RPM",
      ...right,
      cell: ({ rpm_limit: rpm }) => (rpm === null ? none : count(rpm)),
    },
    { name: "tpm_limits", value: ({ tpm_limits: limits }) => limits && tpmText(limits) },
    { name: "max_concurrent" },
    { name: "tags", value: ({ tags }) => tags && tagsText(tags) },
    {
      name: "provider_scope",
      title: "USES",
      elastic: true,
      cell: (view) => mayUse(view) ?? style.dim("all"),
    },
    { name: "tools" },
    { name: "user_headers" },
    { name: "models", value: ({ models }) => models?.join(" ") },
    {
      name: "recorded_requests",
      title: "REQUESTS",
      ...right,
      cell: ({ recorded_requests }) => count(recorded_requests),
    },
    ...csvOnly("input_tokens", "output_tokens"),
    {
      name: "last_used_on",
      title: "LAST USE",
      cell: ({ last_used_on: on }) =>
        on == null ? style.dim("never") : daysAgo(utcDay(nowMs) - utcDay(Date.parse(on))),
    },
    {
      name: "expires_at",
      title: "EXPIRES",
      cell: ({ expires_at: at }) => (at === null ? style.dim("never") : fromNow(Date.parse(at), nowMs)),
    },
    { name: "created_at" },
  ];
}

/** Credits or tokens; null without a limit. */
function leftOf({ credit, budget }: KeyView): number | null {
  return credit === null ? (budget?.remaining ?? null) : credit.balance;
}

/** The provider and models that the key is restricted to; null if it can use all. */
function mayUse({ provider_scope: scope, models }: KeyView): string | null {
  const provider = scope === "all" ? null : scope;
  if (models === null) return provider;
  return provider === null ? models.join(", ") : `${provider}: ${models.join(", ")}`;
}

/** By the UTC calendar. */
function daysAgo(days: number): string {
  return days <= 0 ? "today" : `${count(days)}d ago`;
}

/** The limit that the key reaches first: a daily cap may be nearly used up while the account has credit left. */
function left(view: KeyView): string {
  const cap = tightestCap([...view.caps, ...view.account_caps, ...knownUse(view.value_caps)]);
  const rest = leftOf(view);
  if (cap !== null && (rest === null || view.postpaid || leftOfCap(cap) < rest))
    return capLeftText(cap, view.mode);
  return leftOfFunds(view);
}

/** `0.30 of 5.00 cr/day`. */
function capLeftText(cap: CapView, mode: KeyView["mode"]): string {
  const amount = mode === "credit" ? (credits: number) => shortCredits(credits) : count;
  return `${amount(leftOfCap(cap))} of ${amount(cap.limit)} ${mode === "credit" ? "cr" : "tok"}/${cap.period}`;
}

function leftOfFunds(view: KeyView): string {
  if (view.credit !== null) return balanceText(view, "cr");
  if (view.budget === null || view.budget.remaining === null) return "unlimited";
  return `${count(view.budget.remaining)} tok`;
}
