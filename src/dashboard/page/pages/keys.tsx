import { useState } from "preact/hooks";
import type { KeyList, ListedKeyView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { useLoaded } from "../loaded.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { Balance, spentWords } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Empty, Shown } from "../parts/states.tsx";
import { hrefOf, query, setQuery } from "../router.ts";
import { CreateKey } from "./key-create.tsx";
import { KeyMenu } from "./key-menu.tsx";

function KeyRow({ of: key, onChange }: { of: ListedKeyView; onChange: () => void }) {
  return (
    <tr>
      <td class="lead" data-name="Key">
        <a href={hrefOf(`keys/${key.id}`)}>{key.label ?? "No label"}</a>
        <code>{key.prefix}…</code>
      </td>
      <td data-name="Status">
        <KeyStatus status={key.status} />
      </td>
      <td data-name="Mode">{key.mode === "credit" ? "credit" : "token budget"}</td>
      <td data-name="Balance" class="number two">
        <Balance of={key} />
      </td>
      <td data-name="Spent" class="number">
        {spentWords(key)}
      </td>
      <td data-name="Requests" class="number">
        {count(key.requests)}
        <small class="muted">{key.last_used_on === null ? "never used" : `last ${key.last_used_on}`}</small>
      </td>
      <td data-name="14 days">
        <Sparkline values={key.recent} label={`Use of ${key.label ?? key.prefix} over the last 14 days`} />
      </td>
      <td class="row-end">
        <KeyMenu of={key} onChange={onChange} />
      </td>
    </tr>
  );
}

function KeyTable({ keys, onChange }: { keys: readonly ListedKeyView[]; onChange: () => void }) {
  return (
    <table class="rows keys">
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">Status</th>
          <th scope="col">Mode</th>
          <th scope="col" class="number">
            Balance
          </th>
          <th scope="col" class="number">
            Spent
          </th>
          <th scope="col" class="number">
            Requests
          </th>
          <th scope="col">14 days</th>
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={key.id} of={key} onChange={onChange} />
        ))}
      </tbody>
    </table>
  );
}

export function Keys() {
  const search = query.value.get("search") ?? "";
  const status = query.value.get("status") ?? "";
  const cursor = query.value.get("cursor") ?? "";
  const keys = useLoaded(
    `${search}|${status}|${cursor}`,
    () => api.get<KeyList>("/keys", { search, status, cursor, limit: 25 }),
    10_000,
  );
  const [creating, setCreating] = useState(false);
  const filtered = search !== "" || status !== "";
  return (
    <>
      <PageHead
        title="Keys"
        about={keys.value ? `${count(keys.value.total)} ${filtered ? "found" : "in all"}` : "…"}
      >
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          New key
        </Button>
      </PageHead>
      <div class="filters">
        <SearchBox
          label="Search keys"
          value={search}
          placeholder="Label, prefix or id"
          onValue={(value) => setQuery({ search: value, cursor: null })}
        />
        <select
          aria-label="Status"
          value={status}
          onChange={(event) => setQuery({ status: event.currentTarget.value, cursor: null })}
        >
          <option value="">Any status</option>
          {["active", "expired", "disabled", "suspended", "revoked"].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div class="card flush">
        <Shown loaded={keys}>
          {(page) =>
            page.data.length === 0 ? (
              <Empty icon="keys" title={filtered ? "No key matches" : "No keys yet"}>
                <p>{filtered ? "Change the search or the status." : "Make one to let a client in."}</p>
              </Empty>
            ) : (
              <KeyTable keys={page.data} onChange={keys.reload} />
            )
          }
        </Shown>
      </div>
      <Pager next={keys.value?.next_cursor ?? null} />
      {creating && (
        <CreateKey
          onClose={() => {
            setCreating(false);
            keys.reload();
          }}
        />
      )}
    </>
  );
}
