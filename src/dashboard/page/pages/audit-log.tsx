import type { AuditView, Page } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { moment } from "../format.ts";
import { Card } from "../parts/card.tsx";
import { Download, everyPage } from "../parts/download.tsx";
import { Pager } from "../parts/pager.tsx";
import { RangePicker } from "../parts/range-picker.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { parameters } from "../router.ts";

const columns: readonly Column<AuditView>[] = [
  { name: "Time", cell: ({ at }) => moment(at) },
  { name: "What", cell: ({ action }) => action },
  { name: "To", cell: ({ target }) => (target ? <code>{target}</code> : "–") },
  { name: "Detail", class: "muted", cell: ({ detail }) => detail ?? "–" },
  { name: "By", cell: ({ actor }) => actor, note: ({ address }) => address },
];

/** Who changed what; the page's address keeps what is looked for. */
export function AuditLog() {
  const { cursor, ...asked } = parameters(["search", "since", "until", "cursor"]);
  const page = useAnswer<Page<AuditView>>("/audit", 0, { ...asked, cursor, limit: 20 });
  const isFiltered = Object.values(asked).some(Boolean);
  return (
    <Card
      title="Changes"
      actions={<Download name="changes" rows={() => everyPage<AuditView>("/audit", asked)} />}
    >
      <div class="filters">
        <SearchBox label="Search changes" placeholder="Who, from where, what, to what or how" />
        <RangePicker otherwise="Any time" />
      </div>
      <Shown loaded={page}>
        {({ data }) => (
          <Table
            rows={data}
            columns={columns}
            keyOf={({ id }) => id}
            empty={<p class="muted pad">{isFiltered ? "No change is like this." : "No changes yet."}</p>}
          />
        )}
      </Shown>
      <Pager next={page.value?.next_cursor ?? null} />
    </Card>
  );
}
