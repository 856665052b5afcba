import type { EntryView } from "../../../admin/requests/schema.ts";
import { count, moment } from "../format.ts";
import { Money } from "../parts/money.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf } from "../router.ts";

function EntryReason({ entry }: { entry: EntryView }) {
  if (!entry.request_id) return <>{entry.note ?? entry.reference ?? "–"}</>;
  return (
    <a href={hrefOf(`requests/${entry.request_id}?entry=${entry.id}`)}>
      <code>{entry.request_id}</code>
    </a>
  );
}

const columnsOf = (unit: string): readonly Column<EntryView>[] => [
  { name: "Time", cell: ({ at }) => moment(at) },
  { name: "Entry", cell: ({ kind }) => kind },
  { name: "Reason", class: "muted", cell: (entry) => <EntryReason entry={entry} /> },
  {
    name: `Amount in ${unit}`,
    class: "number",
    cell: ({ amount }) => (unit === "credits" ? <Money amount={amount} exact /> : count(amount)),
  },
];

export function EntryTable({ entries, isFiltered }: { entries: readonly EntryView[]; isFiltered?: boolean }) {
  const none = <p class="muted pad">{isFiltered ? "No entries of this kind." : "No entries yet."}</p>;
  // The entries of a key, an account or a request have the same unit.
  const columns = columnsOf(entries[0]?.unit ?? "credits");
  return <Table rows={entries} columns={columns} keyOf={({ id }) => id} empty={none} />;
}
