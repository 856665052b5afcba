import type { KeyList, ListedKeyView } from "../../../admin/key-terms/schema.ts";
import { useAccountNames } from "../account-names.ts";
import { useAnswer } from "../api.ts";
import { count } from "../format.ts";
import { nameOfKey } from "../key-name.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { Balance, Spent, tightestBalance } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { Choose, choicesOf, plainChoices } from "../parts/choose.tsx";
import { ask, useAsked } from "../parts/dialogs.tsx";
import { isFiltered } from "../parts/empty-list.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { ListCard } from "../parts/list-card.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { actionsColumn, type Column } from "../parts/table.tsx";
import { hrefOf, parameters } from "../router.ts";
import { CreateKey, KeyLink } from "./key-dialogs.tsx";
import { isShared } from "./key-form.ts";
import { KeyMenu } from "./key-menu.tsx";

function columnsOf(names: (account: string) => string): readonly Column<ListedKeyView>[] {
  return [
    {
      name: "Key",
      class: "lead clip",
      phone: "title",
      cell: KeyLink,
      note: ({ label, owner }) => label !== null && owner,
    },
    {
      name: "Status",
      phone: "about",
      cell: ({ status, account_status: account }) => <KeyStatus {...{ status, account }} />,
    },
    {
      name: "Account",
      class: "clip",
      minor: true,
      cell: (key) => (
        <>
          {key.mode === "credit" ? "credit" : "token budget"}
          {isShared(key) && (
            <small>
              <a href={hrefOf(`accounts/${key.account}`)}>{names(key.account)}</a>
            </small>
          )}
        </>
      ),
    },
    {
      name: "Left",
      phone: "value",
      class: "number two",
      cell: (key) => <Balance summary={tightestBalance(key)} name={nameOfKey(key)} />,
    },
    {
      name: "Spent",
      class: "number",
      phone: "side",
      phoneUnit: "spent",
      cell: (key) => <Spent apiKey={key} />,
    },
    {
      name: "Requests",
      class: "number",
      cell: ({ recorded_requests: requests }) => count(requests),
      note: ({ last_used_on: day }) => (day === null ? "never used" : `last ${day}`),
    },
    {
      name: "14 days",
      minor: true,
      cell: (key) => (
        <Sparkline values={key.recent} label={`Usage of ${nameOfKey(key)} over the last 14 days`} />
      ),
    },
    actionsColumn((key) => <KeyMenu apiKey={key} />),
  ];
}

const statuses = ["active", "expired", "disabled", "suspended", "revoked"];
const modes = { credit: "credit", token_budget: "token budget" };
const orders = { label: "By label", owner: "By owner", expires: "Expiring first" };

const choices = [
  { name: "status", choices: plainChoices(statuses) },
  { name: "mode", choices: choicesOf(modes) },
  { name: "sort", label: "Order", otherwise: "Newest first", choices: choicesOf(orders) },
];

const filters = ["search", "status", "mode"];

export function Keys() {
  const listQuery = parameters(["search", "status", "mode", "sort", "cursor"]);
  const keys = useAnswer<KeyList>("/keys", 10_000, { ...listQuery, limit: 25 });
  const names = useAccountNames();
  useAsked("key", ask(CreateKey, null));
  return (
    <>
      <PageHead
        title="Keys"
        about={keys.value ? `${count(keys.value.total)} ${isFiltered(filters) ? "found" : "in total"}` : "…"}
      >
        <ForAdmins>
          <Button kind="primary" icon="plus" onClick={ask(CreateKey, null)}>
            New key
          </Button>
        </ForAdmins>
      </PageHead>
      <FilterBar
        names={filters}
        search={<SearchBox label="Search keys" placeholder="Label, owner, prefix or id" />}
      >
        {choices.map((choice) => (
          <Choose key={choice.name} {...choice} />
        ))}
      </FilterBar>
      <ListCard
        loaded={keys}
        rowsOf={({ data }) => data}
        columns={columnsOf(names)}
        icon="keys"
        what="keys"
        filters={filters}
      >
        <FirstRequest />
      </ListCard>
      <Pager next={keys.value?.next_cursor ?? null} />
    </>
  );
}
