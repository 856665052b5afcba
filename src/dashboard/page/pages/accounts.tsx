import type { AccountList, AccountView } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { count } from "../format.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { accountStanding, Balance } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { CapBars } from "../parts/cap-bars.tsx";
import { Choose, choicesOf, plainChoices } from "../parts/choose.tsx";
import { useDialogs } from "../parts/dialogs.tsx";
import { EmptyList } from "../parts/empty-list.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, parameters } from "../router.ts";
import { CreateAccount } from "./account-dialogs.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { chosenAccounts } from "./account-order.ts";

const mostOwners = 3;

/** Some of those whom its keys belong to. */
function owners({ keys }: AccountView): string {
  const names = [...new Set(keys.flatMap(({ owner }) => (owner === null ? [] : [owner])))];
  const more = names.length - mostOwners;
  return `${names.slice(0, mostOwners).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function columnsOf(onChange: () => void): readonly Column<AccountView>[] {
  return [
    {
      name: "Account",
      class: "lead",
      cell: ({ id, label }) => (
        <>
          <a href={hrefOf(`accounts/${id}`)}>{label ?? "No name"}</a>
          <code>{id}</code>
        </>
      ),
    },
    { name: "Status", cell: ({ status }) => <KeyStatus status={status} /> },
    {
      name: "Left or owed",
      class: "number two",
      cell: (account) => <Balance standing={accountStanding(account)} of={account.label ?? account.id} />,
    },
    { name: "Caps", class: "wide", cell: ({ caps, mode }) => <CapBars caps={caps} mode={mode} /> },
    { name: "Keys", cell: ({ keys }) => count(keys.length), note: owners },
    {
      name: "Actions",
      class: "row-end",
      unseen: true,
      cell: (account) => <AccountMenu of={account} onChange={onChange} />,
    },
  ];
}

const filters = ["search", "status", "paid"];

const payments = { prepaid: "prepaid", afterwards: "billed afterwards", budget: "token budget" };
const orders = {
  label: "By name",
  tightest: "Nearly used up first",
  owed: "Most owed first",
  spent: "Most spent first",
};

const choices = [
  { name: "status", choices: plainChoices(["active", "closed"]) },
  { name: "paid", otherwise: "However paid", choices: choicesOf(payments) },
  { name: "sort", label: "Order", otherwise: "Newest first", choices: choicesOf(orders) },
];

export function Accounts() {
  const accounts = useAnswer<AccountList>("/accounts", 10_000);
  const filter = parameters(["search", "status", "paid", "sort"]);
  const [ask, dialog] = useDialogs({ create: CreateAccount }, null, accounts.reload);
  return (
    <>
      <PageHead title="Accounts" about="Who pays: a balance or a budget that several keys share">
        <ForAdmins>
          <Button kind="primary" icon="plus" onClick={ask("create")}>
            New account
          </Button>
        </ForAdmins>
      </PageHead>
      <div class="filters">
        <SearchBox label="Search accounts" placeholder="Name, id, key or owner" />
        {choices.map((choice) => (
          <Choose key={choice.name} {...choice} />
        ))}
      </div>
      <div class="card flush">
        <Shown loaded={accounts}>
          {({ data }) => (
            <Table
              rows={chosenAccounts(data, filter)}
              columns={columnsOf(accounts.reload)}
              keyOf={({ id }) => id}
              empty={
                <EmptyList icon="accounts" what="accounts" filters={filters}>
                  <p>
                    A key has an account of its own. Make one here for keys that share a balance, or limits.
                  </p>
                </EmptyList>
              }
            />
          )}
        </Shown>
      </div>
      {dialog}
    </>
  );
}
