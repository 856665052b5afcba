import type { Page } from "../../../admin/formats/shapes.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import type { RouteView } from "../../../admin/system/schema.ts";
import { useAnswer } from "../api.ts";
import { routeName } from "../format.ts";
import { modelChoices, useModels } from "../model-list.ts";
import { Choose, plainChoices } from "../parts/choose.tsx";
import { Download, everyPage } from "../parts/download.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { ListCard } from "../parts/list-card.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Pager } from "../parts/pager.tsx";
import { RangePicker } from "../parts/range-picker.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { goTo, hrefOf, parameters, query, setQuery } from "../router.ts";
import { exchangeColumns } from "./exchange-table.tsx";
import { SessionAgents } from "./session-agents.tsx";

/** Filters by the caller's labels, set by links on a request. */
const callerFilters = ["user", "session", "agent", "batch", "tag"] as const;
const filterNames = [
  "search",
  "key",
  "model",
  "provider",
  "outcome",
  "code",
  "route",
  "since",
  "until",
  ...callerFilters,
] as const;

const outcomes = ["completed", "failed", "rejected", "cancelled", "interrupted"];

/** Opens the request with this `x-request-id`; searches for any other text. */
function search(text: string): void {
  if (/^req_\w{22}$/.test(text)) goTo(hrefOf(`requests/${text}`));
  else setQuery({ search: text, key: null, cursor: null });
}

function Filters({ codes }: { codes: readonly string[] }) {
  const models = useModels();
  const routes = useAnswer<Page<RouteView>>("/routes");
  const known = models.value?.data ?? [];
  // Deduplicated, because some paths have several methods.
  const paths = new Set(routes.value?.data.map(({ path }) => path));
  const providers = new Set(known.flatMap((model) => model.providers));
  return (
    <FilterBar
      names={filterNames}
      search={
        <SearchBox
          label="Search requests"
          state={[query.value.get("search") ?? query.value.get("key") ?? "", search]}
          placeholder="Id, key, code or tag=value"
        />
      }
    >
      <Choose name="model" choices={modelChoices(known)} />
      <Choose name="provider" choices={plainChoices([...providers])} />
      <Choose name="outcome" choices={plainChoices(outcomes)} />
      <Choose name="code" choices={plainChoices(codes)} />
      <Choose name="route" choices={[...paths].map((path) => ({ value: path, text: routeName(path) }))} />
      {callerFilters
        .filter((name) => query.value.has(name))
        .map((name) => (
          <Choose key={name} name={name} choices={[]} />
        ))}
      <RangePicker otherwise="Any time" />
    </FilterBar>
  );
}

export function Exchanges() {
  const filters = parameters(filterNames);
  const cursor = query.value.get("cursor");
  const page = useAnswer<Page<ExchangeView>>("/requests", cursor === null ? 5000 : 0, {
    ...filters,
    cursor,
    limit: 50,
  });
  const session = query.value.get("session");
  const codes = new Set((page.value?.data ?? []).flatMap(({ code }) => code ?? []));
  return (
    <>
      <PageHead title="Requests" about="Every request with a key, and its outcome. Newest first.">
        <Download name="requests" rows={() => everyPage<ExchangeView>("/requests", filters)} />
      </PageHead>
      <Filters codes={[...codes].sort()} />
      {session !== null && <SessionAgents key={session} session={session} />}
      <ListCard
        loaded={page}
        rowsOf={({ data }) => data}
        columns={exchangeColumns}
        skeleton={12}
        icon="exchanges"
        what="requests"
        filters={filterNames}
      >
        <FirstRequest />
      </ListCard>
      <Pager next={page.value?.next_cursor ?? null} />
    </>
  );
}
