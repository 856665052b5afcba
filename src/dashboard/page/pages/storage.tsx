import type { StorageView } from "../../../admin/system/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { size } from "../../../base/text/size.ts";
import { useAnswer } from "../api.ts";
import { count, moment } from "../format.ts";
import { Card } from "../parts/card.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";

interface StoredKind {
  readonly what: string;
  readonly records: number;
  /** Null means for ever. */
  readonly retention: string | null;
  readonly pruned?: StorageView["pruned"][number] | undefined;
}

const columns: readonly Column<StoredKind>[] = [
  { name: "What", class: "lead", cell: ({ what }) => what },
  { name: "Records", class: "number", cell: ({ records }) => count(records) },
  { name: "Retention", cell: ({ retention }) => retention ?? "forever" },
  {
    name: "Last deleted",
    cell: ({ pruned, retention }) =>
      pruned ? `${count(pruned.count)}, ${moment(pruned.at)}` : retention === null ? "–" : "nothing yet",
  },
];

function kinds({ records, retention, pruned, content, ...sizes }: StorageView): readonly StoredKind[] {
  const last = (kind: StorageView["pruned"][number]["what"]) => pruned.find(({ what }) => what === kind);
  return [
    { what: "Accounts", records: records.accounts, retention: null },
    { what: "Keys", records: records.keys, retention: null },
    { what: "Ledger entries", records: records.ledger_entries, retention: null },
    {
      what: "Requests without a charge",
      records: records.free_requests,
      retention: `${plural(retention.request_days, "day")}, at most ${count(retention.request_rows)}`,
      pruned: last("requests"),
    },
    {
      what: `Stored responses, ${size(sizes.response_bytes)}`,
      records: records.responses,
      retention: `${plural(retention.response_hours, "hour")}, at most ${size(retention.response_bytes_per_key)} per key`,
      pruned: last("responses"),
    },
    {
      what: `Responses for idempotent retries, ${size(sizes.retry_response_bytes)}`,
      records: records.retry_responses,
      retention: `24 hours, at most ${size(retention.response_bytes_per_key / 2)} per key`,
    },
    {
      what: `Files of batches, ${size(sizes.file_bytes)}`,
      records: records.files,
      retention: `${plural(retention.result_days, "day")} after their batch, at most ${size(retention.file_bytes_per_key)} per key`,
    },
    ...(content === null
      ? []
      : [
          {
            what: `Request content, ${size(content.bytes)}`,
            records: content.requests,
            retention: `${plural(content.days, "day")}, at most ${size(content.max_bytes)}`,
          },
        ]),
    { what: "Audit log records", records: records.audit_log, retention: null },
  ];
}

function sizes({ database_bytes, journal_bytes, disk_free_bytes }: StorageView): string {
  return [
    `The database uses ${size(database_bytes)}`,
    journal_bytes === null ? "" : `, its journal ${size(journal_bytes)}`,
    disk_free_bytes === null ? "." : `; ${size(disk_free_bytes)} free on disk.`,
  ].join("");
}

export function Storage() {
  const storage = useAnswer<StorageView>("/storage", 30_000);
  return (
    <Card title="Storage">
      <LoadedContent loaded={storage}>
        {(value) => (
          <>
            <p class="pad">{sizes(value)}</p>
            <Table rows={kinds(value)} columns={columns} keyOf={({ what }) => what} />
          </>
        )}
      </LoadedContent>
    </Card>
  );
}
