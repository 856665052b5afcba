import type { ModelBriefView } from "../../../admin/models/schema.ts";
import type { UsageRowView, UsageView } from "../../../admin/reports/schema.ts";
import { api, useLoaded } from "../api.ts";
import { count, duration, percent, shortCount } from "../format.ts";
import { healthText } from "../health.ts";
import { briefPrices } from "../model-prices.ts";
import { rowsByGroup } from "../model-usage.ts";
import { Badge } from "../parts/badge.tsx";
import { Choose, choicesOf, plainChoices } from "../parts/choose.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { ListCard } from "../parts/list-card.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Failure } from "../parts/states.tsx";
import type { Column } from "../parts/table.tsx";
import { Warnings } from "../parts/warnings.tsx";
import { modelHref, parameters, query } from "../router.ts";

/** A model with the calls of the last day; without any it has no usage. */
interface ModelRow extends ModelBriefView {
  readonly usage: UsageRowView | undefined;
  readonly hours: readonly number[];
}

function callsOf({ usage }: ModelRow): number {
  return usage === undefined ? 0 : usage.completed + usage.failed;
}

/** The status of a model, as shown and as offered by the status filter. */
function statusOf({ health, ends }: ModelBriefView): ReturnType<typeof healthText> {
  if (health !== null) return healthText(health);
  return ends === null ? { tone: "muted", text: "idle" } : { tone: "warn", text: "ending" };
}

function Failures({ row }: { row: ModelRow }) {
  const { failed = 0 } = row.usage ?? {};
  if (failed === 0) return null;
  return <span class="bad">{percent(failed, callsOf(row))} failed</span>;
}

const columns: readonly Column<ModelRow>[] = [
  {
    name: "Model",
    class: "lead clip",
    phone: "title",
    sort: "name",
    cell: ({ id }) => (
      <a href={modelHref(id)} title={id}>
        {id}
      </a>
    ),
    note: ({ display_name, listed }) => [display_name, !listed && "not listed"].filter(Boolean).join(" · "),
  },
  {
    name: "Vendor",
    class: "clip",
    minor: true,
    sort: "vendor",
    cell: ({ providers }) => providers.join(", "),
  },
  {
    name: "Status",
    phone: "about",
    cell: (row) => <Badge tone={statusOf(row).tone}>{statusOf(row).text}</Badge>,
    note: ({ ends }) => ends && `ends ${ends}`,
  },
  {
    name: "Input",
    class: "number",
    phone: "value",
    phoneUnit: "in",
    sort: "price",
    cell: ({ price }) => briefPrices(price)[0],
  },
  {
    name: "Output",
    class: "number",
    phone: "side",
    phoneUnit: "out",
    cell: ({ price }) => briefPrices(price)[1],
  },
  {
    name: "Window",
    class: "number",
    minor: true,
    sort: "window",
    cell: ({ context_window: tokens }) => (tokens === null ? "–" : shortCount(tokens)),
  },
  {
    name: "Requests",
    class: "number",
    sort: "requests",
    cell: (row) => (callsOf(row) === 0 ? <span class="muted">–</span> : count(callsOf(row))),
    note: (row) => <Failures row={row} />,
  },
  {
    name: "Avg. first byte",
    class: "number",
    minor: true,
    cell: ({ usage }) => duration(usage?.average_first_byte_ms ?? null),
  },
  {
    name: "Spend",
    class: "number",
    sort: "spend",
    cell: ({ usage }) => (usage ? <Money amount={usage.spend} /> : "–"),
  },
  {
    name: "24 hours",
    minor: true,
    cell: ({ id, hours }) => <Sparkline values={hours} label={`Requests to ${id} by hour, last 24 hours`} />,
  },
];

type Order = (one: ModelRow, other: ModelRow) => number;

const orders: Readonly<Record<string, Order>> = {
  name: (one, other) => one.id.localeCompare(other.id, "en"),
  vendor: (one, other) => (one.providers[0] ?? "").localeCompare(other.providers[0] ?? "", "en"),
  price: (one, other) => (other.price?.["input"] ?? -1) - (one.price?.["input"] ?? -1),
  window: (one, other) => (other.context_window ?? 0) - (one.context_window ?? 0),
  requests: (one, other) => callsOf(other) - callsOf(one),
  spend: (one, other) => (other.usage?.spend ?? 0) - (one.usage?.spend ?? 0),
};

type Filter = Readonly<Record<(typeof filterNames)[number] | "sort", string | null>>;

const filterNames = ["search", "vendor", "capability", "status", "listed"] as const;

/** The matching models, by default the most used ones first. Searching also finds what lists leave out. */
function chosenModels(rows: readonly ModelRow[], filter: Filter): readonly ModelRow[] {
  const { search, vendor, capability, status, listed, sort } = filter;
  const words = (search ?? "").toLowerCase().split(/\s+/);
  const found = rows.filter(
    (row) =>
      (row.listed || listed === "all" || search !== null || callsOf(row) > 0) &&
      (vendor === null || row.providers.includes(vendor)) &&
      (capability === null || row.abilities.includes(capability)) &&
      (status === null || statusOf(row).text === status) &&
      words.every((word) => textOf(row).includes(word)),
  );
  return found.toSorted(orders[sort ?? ""] ?? orders["requests"]);
}

function textOf({ id, display_name, owned_by, providers, aliases }: ModelBriefView): string {
  return [id, display_name, owned_by, ...providers, ...aliases].join(" ").toLowerCase();
}

const hourMs = 3_600_000;
const hoursShown = 24;

interface ModelRows {
  readonly rows: readonly ModelRow[];
  /** Why the figures of the last day are missing. */
  readonly failure: Error | null;
}

/** The list of models, and what each was used for within a day. The list is shown even if the report fails. */
async function loadRows(): Promise<ModelRows> {
  const [{ data: models }, usage] = await Promise.all([
    api.get<{ data: readonly ModelBriefView[] }>("/models/brief"),
    lastDay().catch((error: Error) => ({ ...noUsage, failure: error })),
  ]);
  const rows = models.map((model) => ({
    ...model,
    usage: usage.rows.get(model.id),
    hours: usage.hours.get(model.id) ?? [],
  }));
  return { rows, failure: usage.failure };
}

interface LastDay extends Pick<ModelRows, "failure"> {
  readonly rows: ReadonlyMap<string | null, UsageRowView>;
  readonly hours: ReadonlyMap<string, readonly number[]>;
}

const noUsage: LastDay = { rows: new Map(), hours: new Map(), failure: null };

async function lastDay(): Promise<LastDay> {
  const since = "24h";
  const rows = await rowsByGroup((cursor) => api.get<UsageView>("/usage", { by: "model", since, cursor }));
  const byHour = await api.get<UsageView>("/usage", { by: "model,hour", since });
  const hours = new Map<string, number[]>();
  const firstHour = Math.floor(Date.now() / hourMs) - hoursShown + 1;
  for (const { groups, recorded_requests: requests } of byHour.data) {
    const values = hours.get(groups?.["model"] ?? "") ?? new Array<number>(hoursShown).fill(0);
    const hour = Date.parse(groups?.["hour"] ?? "") / hourMs - firstHour;
    if (hour >= 0) values[hour] = requests;
    hours.set(groups?.["model"] ?? "", values);
  }
  return { rows, hours, failure: null };
}

const everyMs = 15_000;
const perPage = 50;

function Filters({ rows }: { rows: readonly ModelRow[] }) {
  const sorted = (names: readonly string[]) => plainChoices([...new Set(names)].sort());
  return (
    <FilterBar
      names={filterNames}
      search={<SearchBox label="Search models" placeholder="Name, alias or vendor" />}
    >
      <Choose name="vendor" choices={sorted(rows.flatMap(({ providers }) => providers))} />
      <Choose
        name="capability"
        otherwise="Any capability"
        choices={sorted(rows.flatMap(({ abilities }) => abilities)).map(({ value }) => ({
          value,
          text: value.replaceAll("_", " "),
        }))}
      />
      <Choose name="status" choices={sorted(rows.map((row) => statusOf(row).text))} />
      <Choose name="listed" otherwise="Listed and used" choices={choicesOf({ all: "All that are served" })} />
    </FilterBar>
  );
}

export function Models() {
  const models = useLoaded("models", loadRows, everyMs);
  const { rows, failure } = models.value ?? { rows: [], failure: null };
  const found = chosenModels(rows, parameters([...filterNames, "sort"]));
  const first = Math.max(0, Number(query.value.get("cursor")) || 0);
  const next = first + perPage < found.length ? String(first + perPage) : null;
  return (
    <>
      <PageHead
        title="Models"
        about={
          models.value ? `${count(found.length)} of ${count(rows.length)} that clients can request` : "…"
        }
      />
      <Warnings />
      <Filters rows={rows} />
      {failure && <Failure error={failure} onRetry={models.reload} />}
      <ListCard
        loaded={models}
        rowsOf={() => found.slice(first, first + perPage)}
        skeleton={12}
        columns={columns}
        icon="models"
        what="models"
        filters={filterNames}
      >
        <p>Add a provider and a model to the configuration to see them here.</p>
      </ListCard>
      <Pager next={next} first="First page" />
    </>
  );
}
