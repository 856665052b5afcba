import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { StatementView } from "../../../admin/accounts/statement-schema.ts";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { UsageView } from "../../../admin/reports/schema.ts";
import type { EntryView } from "../../../admin/requests/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { api, useAnswer, useLoaded } from "../api.ts";
import { count, credits, date, exactCredits, shortCount } from "../format.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { accountBalance } from "../parts/balance.tsx";
import { CapBars, capText, ValueCapBars } from "../parts/cap-bars.tsx";
import { Card } from "../parts/card.tsx";
import { Choose } from "../parts/choose.tsx";
import { Download } from "../parts/download.tsx";
import { type Fact, FactTiles } from "../parts/fact-tiles.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { month, monthName } from "../parts/range-picker.tsx";
import { Empty, LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, query } from "../router.ts";
import { SpendByDay, spendSince } from "../self-service/spend-by-day.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { EntryTable } from "./entry-table.tsx";
import { KeyLink } from "./key-dialogs.tsx";
import { TopRows } from "./overview-parts.tsx";

type AccountKey = AccountView["keys"][number];

function Facts({ account }: { account: AccountView }) {
  const { credit, postpaid, keys, key_caps: keyCaps, mode } = account;
  const { name, main, exact = main, side } = accountBalance(account);
  const owners = new Set(keys.map(({ owner }) => owner).filter((owner) => owner !== null));
  const facts: readonly Fact[] = [
    [name, exact, side],
    credit
      ? ["Spent", credits(credit.used), "credits in total"]
      : ["Spent", shortCount(account.budget?.used ?? 0), "tokens in this period"],
    ["Keys", count(keys.length), plural(owners.size, "owner")],
    [
      "Default caps for new keys",
      keyCaps.length === 0 ? "no cap" : plural(keyCaps.length, "cap"),
      keyCaps.map((cap) => capText(cap, mode)).join(", "),
    ],
    [
      "Billing",
      postpaid ? "postpaid" : credit === null ? "token budget" : "prepaid",
      `created ${date(account.created_at)}`,
    ],
  ];
  return <FactTiles facts={facts} />;
}

function keyColumns({ mode, status: account }: AccountView): readonly Column<AccountKey>[] {
  return [
    { name: "Key", class: "lead", cell: KeyLink },
    { name: "Owner", cell: ({ owner }) => owner ?? "–" },
    { name: "Status", cell: ({ status }) => <KeyStatus status={status} account={account} /> },
    { name: "Caps", class: "wide", cell: ({ caps }) => <CapBars caps={caps} mode={mode} /> },
  ];
}

/** The account's spending in the last thirty days, over all its keys. */
function Spend({ account: { id, mode } }: { account: AccountView }) {
  const since = spendSince();
  const byDay = useAnswer<UsageView>("/usage", 30_000, { account: id, by: "day", since });
  const byModel = useAnswer<UsageView>("/usage", 30_000, { account: id, by: "model", since });
  return (
    <div class="columns spend">
      <LoadedContent loaded={byDay}>
        {(value) => <SpendByDay usage={value} mode={mode} since={since} />}
      </LoadedContent>
      <LoadedContent loaded={byModel}>
        {({ data }) => (
          <TopRows
            title="Models by spend"
            rows={data.filter(({ group }) => group).slice(0, 6)}
            href={({ group }) => hrefOf(`requests?model=${encodeURIComponent(group ?? "")}`)}
          />
        )}
      </LoadedContent>
    </div>
  );
}

export function AccountPage({ id }: { id: string }) {
  const account = useAnswer<AccountView>(`/accounts/${id}`, 5000);
  const entries = useAnswer<Page<EntryView>>("/entries", 5000, { account: id, limit: 10 });
  return (
    <>
      {account.value === null && <PageHead title="Account" />}
      <LoadedContent loaded={account}>
        {(value) => (
          <>
            <PageHead
              title={value.label ?? "No name"}
              about={
                <>
                  <code>{value.id}</code> <KeyStatus status={value.status} />{" "}
                  {value.postpaid ? "postpaid" : value.mode === "credit" ? "prepaid" : "token budget"}
                </>
              }
            >
              <AccountMenu account={value} showsTopUp />
            </PageHead>
            <Facts account={value} />
            <section class="card">
              <h2>Caps</h2>
              <CapBars caps={value.caps} mode={value.mode} />
              {value.value_caps.length > 0 && <ValueCapBars caps={value.value_caps} mode={value.mode} />}
            </section>
            <Spend account={value} />
            <Card title="Keys">
              <Table
                rows={value.keys}
                columns={keyColumns(value)}
                keyOf={({ id: keyId }) => keyId}
                empty={
                  <Empty icon="keys" title="No keys yet">
                    <p>Create one from the menu above, or move a key here from the key's page.</p>
                  </Empty>
                }
              />
            </Card>
            <AccountStatement account={value} />
            <Card title="Newest ledger entries">
              <LoadedContent loaded={entries}>{(page) => <EntryTable entries={page.data} />}</LoadedContent>
            </Card>
          </>
        )}
      </LoadedContent>
    </>
  );
}

const earlierMonths = 11;

/** The columns of `sluice statement --csv`. */
function linesOf({ month: statementMonth, unfinished, accounts }: StatementView): readonly object[] {
  return accounts.flatMap(({ account, label, unit, lines }) =>
    lines.map(({ amount, amount_nano, reference, note, ...line }) => ({
      month: statementMonth,
      unfinished,
      account,
      account_label: label,
      ...line,
      unit,
      amount,
      amount_nano,
      reference,
      note,
    })),
  );
}

function inWords({ accounts: [statement], unfinished }: StatementView): string {
  if (statement === undefined || statement.lines.length === 0) return "Nothing was charged or paid.";
  const { opening, total, closing, owed, unit } = statement;
  const shown = unit === "credits" ? exactCredits : count;
  const parts = [
    ...(opening === null ? [] : [`opening balance ${shown(opening)}`]),
    `${shown(total)} ${unit} this month`,
    ...(closing === null ? [] : [`closing balance ${shown(closing)}`]),
    ...(owed === null ? [] : [`amount due ${shown(owed)}`]),
  ];
  const cancelled = statement.lines.reduce((sum, line) => sum + line.cancelled_calls, 0);
  if (cancelled > 0) parts.push(`with ${plural(cancelled, "cancelled or interrupted request")}`);
  return `${parts.join(" · ")}${unfinished ? " · the month is not over" : ""}`;
}

function AccountStatement({ account: { id, label } }: { account: AccountView }) {
  const chosen = query.value.get("month") ?? month(0);
  const load = () => api.get<StatementView>("/statement", { month: chosen, account: id });
  const statement = useLoaded(`${id}/statement/${chosen}`, load);
  const earlier = Array.from({ length: earlierMonths }, (_, ago) => month(-1 - ago));
  return (
    <Card
      title="Statement"
      actions={
        <>
          <Choose
            name="month"
            otherwise={monthName(month(0))}
            choices={earlier.map((value) => ({ value, text: monthName(value) }))}
          />
          <Download name={`${label ?? id} ${chosen}`} rows={async () => linesOf(await load())} />
        </>
      }
    >
      <LoadedContent loaded={statement} rows={1}>
        {(value) => <p class="pad">{inWords(value)}</p>}
      </LoadedContent>
    </Card>
  );
}
