import type { BatchView } from "../../../admin/batches/schema.ts";
import type { Page } from "../../../admin/formats/shapes.ts";
import { api, useAnswer } from "../api.ts";
import { count, moment, percent, routeName } from "../format.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Choose, plainChoices } from "../parts/choose.tsx";
import { ask, type DialogProps } from "../parts/dialogs.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { ListCard } from "../parts/list-card.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { actionsColumn, type Column } from "../parts/table.tsx";
import { hrefOf, parameters, query } from "../router.ts";

const tones: Readonly<Record<BatchView["state"], Tone>> = {
  running: "info",
  waiting: "warn",
  paused: "warn",
  ended: "muted",
};

const columns: readonly Column<BatchView>[] = [
  {
    name: "Batch",
    class: "lead message",
    cell: ({ id, endpoint }) => <a href={hrefOf(`requests?batch=${id}`)}>{routeName(endpoint)}</a>,
    note: ({ id }) => id,
  },
  {
    name: "Key",
    class: "message",
    cell: ({ key, key_label: label }) => <a href={hrefOf(`keys/${key}`)}>{label ?? `${key}…`}</a>,
    note: ({ created_at: at }) => moment(at),
  },
  {
    name: "Status",
    cell: ({ state, status }) => <Badge tone={tones[state]}>{state === "ended" ? status : state}</Badge>,
    note: ({ reason }) => reason,
  },
  {
    name: "Progress",
    class: "number",
    cell: ({ completed, failed, total }) => percent(completed + failed, total),
    note: ({ completed, failed, total }) =>
      `${count(completed)} of ${count(total)}${failed === 0 ? "" : `, ${count(failed)} failed`}`,
  },
  {
    name: "Charged",
    class: "number",
    minor: true,
    cell: ({ charged, unit }) => <Money amount={charged} unit={unit} exact />,
    note: ({ estimate, unit }) =>
      estimate === null ? null : (
        <>
          of <Money amount={estimate} unit={unit} /> at most
        </>
      ),
  },
  actionsColumn(
    (batch) =>
      batch.state !== "ended" && (
        <ForAdmins>
          <Menu label={`Actions for ${batch.id}`}>
            {batch.state === "paused" && <MenuItem onClick={ask(ResumeBatch, batch)}>Resume…</MenuItem>}
            <MenuItem onClick={ask(CancelBatch, batch)}>Cancel…</MenuItem>
          </Menu>
        </ForAdmins>
      ),
  ),
];

function CancelBatch({ subject: { id }, onClose }: DialogProps<BatchView>) {
  const texts = { title: "Cancel batch", verb: "Cancel batch", done: "Cancelled.", about: id };
  return (
    <Ask {...texts} danger onClose={onClose} send={() => api.post(`/batches/${id}/cancel`)}>
      <p>Lines that run are charged. Others never start.</p>
    </Ask>
  );
}

function ResumeBatch({ subject: { id }, onClose }: DialogProps<BatchView>) {
  const texts = { title: "Resume batch", verb: "Resume", done: "Resumed.", about: id };
  return (
    <Ask {...texts} onClose={onClose} send={() => api.post(`/batches/${id}/resume`)}>
      <p>Lines that ran after the backup run again, and are charged again.</p>
    </Ask>
  );
}

const filterNames = ["state", "key"] as const;
const states = ["open", "running", "waiting", "paused", "ended"];

/** The batches of all keys, the newest first. */
export function Batches() {
  const cursor = query.value.get("cursor");
  const batches = useAnswer<Page<BatchView>>("/batches", cursor === null ? 5000 : 0, {
    ...parameters(filterNames),
    cursor,
    limit: 50,
  });
  return (
    <>
      <PageHead
        title="Batches"
        about="What clients run in batches: progress, charges, and what it waits for."
      />
      <FilterBar names={filterNames}>
        <Choose name="state" choices={plainChoices(states)} />
        {query.value.has("key") && <Choose name="key" choices={[]} />}
      </FilterBar>
      <ListCard
        loaded={batches}
        rowsOf={({ data }) => data}
        columns={columns}
        icon="batches"
        what="batches"
        filters={filterNames}
      >
        <p>Batches appear here when a client creates one.</p>
      </ListCard>
      <Pager next={batches.value?.next_cursor ?? null} />
    </>
  );
}
