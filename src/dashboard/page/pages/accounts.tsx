import type { AccountList, AccountView } from "../../../admin/accounts/schema.ts";
import { useAnswer } from "../api.ts";
import { Caps } from "../caps/caps.tsx";
import { count } from "../format.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { accountBalance, Balance } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { CapBars } from "../parts/cap-bars.tsx";
import { Choose, choicesOf, plainChoices } from "../parts/choose.tsx";
import { ask, useAsked } from "../parts/dialogs.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { ListCard } from "../parts/list-card.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { actionsColumn, type Column } from "../parts/table.tsx";
import { hrefOf, parameters } from "../router.ts";
import { CreateAccount } from "./account-dialogs.tsx";
import { AccountMenu } from "./account-menu.tsx";

/** The used share of the tightest limit; 0 without a limit. */
function usedShare({ credit, budget, postpaid, caps }: AccountView): number {
  const shares = caps.map(({ used, limit }) => (limit === 0 ? 1 : used / limit));
  if (credit !== null && !postpaid && credit.purchased > 0) shares.push(credit.used / credit.purchased);
  if (budget !== null && budget.tokens !== null) shares.push(budget.used / (budget.tokens || 1));
  return Math.max(0, ...shares);
}

/** The value of the billing filter. */
function paymentOf({ mode, postpaid }: AccountView): "prepaid" | "postpaid" | "budget" {
  if (mode === "token_budget") return "budget";
  return postpaid ? "postpaid" : "prepaid";
}

const orders: Readonly<Record<string, (one: AccountView, other: AccountView) => number>> = {
  label: (one, other) => (one.label ?? one.id).localeCompare(other.label ?? other.id, "en"),
  tightest: (one, other) => usedShare(other) - usedShare(one),
  spent: (one, other) => (other.credit?.used ?? 0) - (one.credit?.used ?? 0),
  owed: (one, other) => (one.credit?.balance ?? 0) - (other.credit?.balance ?? 0),
};

type AccountFilter = Readonly<Record<"search" | "status" | "billing" | "sort", string | null>>;

/** The matching accounts in the chosen order, by default the newest first. There are few enough to sort here. */
function chosenAccounts(
  accounts: readonly AccountView[],
  { search, status, billing, sort }: AccountFilter,
): readonly AccountView[] {
  const text = search?.toLowerCase() ?? "";
  const found = accounts.filter(
    (account) =>
      (status === null || account.status === status) &&
      (billing === null || paymentOf(account) === billing) &&
      textsOf(account).some((each) => each.toLowerCase().includes(text)),
  );
  const order = orders[sort ?? ""];
  return order === undefined ? found.toReversed() : found.toSorted(order);
}

function textsOf({ id, label, keys }: AccountView): readonly string[] {
  return [id, label, ...keys.flatMap((key) => [key.label, key.owner, key.prefix])].filter(
    (text) => text !== null,
  );
}

const maxOwners = 3;

/** Some owners of its keys. */
function owners({ keys }: AccountView): string {
  const names = [...new Set(keys.flatMap(({ owner }) => (owner === null ? [] : [owner])))];
  const more = names.length - maxOwners;
  return `${names.slice(0, maxOwners).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const columns: readonly Column<AccountView>[] = [
  {
    name: "Account",
    class: "lead clip",
    phone: "title",
    cell: ({ id, label }) => (
      <>
        <a href={hrefOf(`accounts/${id}`)}>{label ?? "No name"}</a>
        <code>{id}</code>
      </>
    ),
  },
  { name: "Status", phone: "about", cell: ({ status }) => <KeyStatus status={status} /> },
  {
    name: "Left or owed",
    class: "number two",
    phone: "value",
    cell: (account) => <Balance summary={accountBalance(account)} name={account.label ?? account.id} />,
  },
  { name: "Caps", class: "wide", cell: ({ caps, mode }) => <CapBars caps={caps} mode={mode} /> },
  {
    name: "Keys",
    class: "clip",
    minor: true,
    phone: "side",
    phoneUnit: "keys",
    cell: ({ keys }) => count(keys.length),
    note: owners,
  },
  actionsColumn((account) => <AccountMenu account={account} />),
];

const filters = ["search", "status", "billing"];

const payments = { prepaid: "Prepaid", postpaid: "Postpaid", budget: "Token budget" };
const orderTexts = {
  label: "By name",
  tightest: "Nearly used up first",
  owed: "Most owed first",
  spent: "Most spent first",
};

const choices = [
  { name: "status", choices: plainChoices(["active", "closed"]) },
  { name: "billing", otherwise: "Any billing", choices: choicesOf(payments) },
  { name: "sort", label: "Order", otherwise: "Newest first", choices: choicesOf(orderTexts) },
];

export function Accounts() {
  const accounts = useAnswer<AccountList>("/accounts", 10_000);
  const filter = parameters(["search", "status", "billing", "sort"]);
  useAsked("account", ask(CreateAccount, null));
  return (
    <>
      <PageHead title="Accounts" about="A balance or a token budget that several keys share">
        <ForAdmins>
          <Button kind="primary" icon="plus" onClick={ask(CreateAccount, null)}>
            New account
          </Button>
        </ForAdmins>
      </PageHead>
      <FilterBar
        names={filters}
        search={<SearchBox label="Search accounts" placeholder="Name, id, key or owner" />}
      >
        {choices.map((choice) => (
          <Choose key={choice.name} {...choice} />
        ))}
      </FilterBar>
      <ListCard
        loaded={accounts}
        rowsOf={({ data }) => chosenAccounts(data, filter)}
        columns={columns}
        icon="accounts"
        what="accounts"
        filters={filters}
      >
        <p>
          Each key has its own account by default. Create an account to share a balance or limits between
          keys.
        </p>
      </ListCard>
      <Caps />
    </>
  );
}
