import { useState } from "preact/hooks";
import type { AccountList, AccountView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { accountWords } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { CapBars } from "../parts/cap-bars.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf } from "../router.ts";
import { CreateAccount } from "./account-dialogs.tsx";
import { AccountMenu } from "./account-menu.tsx";

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
      name: "Balance",
      class: "number two",
      cell: (account) => {
        const { main, side } = accountWords(account);
        return (
          <>
            {main}
            <small class="muted">{side}</small>
          </>
        );
      },
    },
    { name: "Caps", class: "wide", cell: ({ caps, mode }) => <CapBars caps={caps} mode={mode} /> },
    {
      name: "Keys",
      cell: (account) => (
        <>
          {count(account.keys.length)}
          <small class="muted">{owners(account)}</small>
        </>
      ),
    },
    {
      name: "Actions",
      class: "row-end",
      unseen: true,
      cell: (account) => <AccountMenu of={account} onChange={onChange} />,
    },
  ];
}

export function Accounts() {
  const accounts = useLoaded("accounts", () => api.get<AccountList>("/accounts"), 10_000);
  const [creating, setCreating] = useState(false);
  return (
    <>
      <PageHead title="Accounts" about="Who pays: a balance or a budget that several keys share">
        <ForAdmins>
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            New account
          </Button>
        </ForAdmins>
      </PageHead>
      <div class="card flush">
        <Shown loaded={accounts}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="accounts" title="No accounts yet">
                <p>
                  A key has an account of its own. Make one here for keys that share a balance, or limits.
                </p>
              </Empty>
            ) : (
              <Table
                class="rows accounts"
                rows={data}
                columns={columnsOf(accounts.reload)}
                keyOf={({ id }) => id}
              />
            )
          }
        </Shown>
      </div>
      {creating && (
        <CreateAccount
          onClose={() => setCreating(false)}
          onDone={() => {
            setCreating(false);
            accounts.reload();
          }}
        />
      )}
    </>
  );
}
