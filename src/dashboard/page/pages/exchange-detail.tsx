import type { AttemptView, ExchangeDetailView, ExchangeView } from "../../../admin/requests/schema.ts";
import { useAnswer } from "../api.ts";
import { RequestContent } from "../content/content.tsx";
import { count, duration, exactCredits, moment, shortUnits } from "../format.ts";
import { OutcomeBadge, StatusCode } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FactList, type NamedFact } from "../parts/fact-list.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TimeLine } from "../parts/time-line.tsx";
import { hrefOf, query, setQuery } from "../router.ts";
import { EntryTable } from "./entry-table.tsx";
import { hasUsageRecord } from "./exchange-table.tsx";
import { phasesOf } from "./time-line.ts";

function originOf(exchange: ExchangeView): readonly NamedFact[] {
  const { outcome, status, code, provider, key_label: label, key_prefix: prefix } = exchange;
  const answered = `${provider}/${exchange.upstream_model}, attempt ${exchange.attempts}`;
  return [
    [
      "Outcome",
      <>
        <OutcomeBadge outcome={outcome} />{" "}
        {status !== null && <StatusCode status={status} outcome={outcome} />}{" "}
        {code !== null && <code>{code}</code>}
      </>,
    ],
    ["Time", moment(exchange.at)],
    ["Key", <a href={hrefOf(`keys/${exchange.key_id}`)}>{label ?? `${prefix}…`}</a>],
    ["Route", `${exchange.route || "–"} ${exchange.stream ? "(stream)" : "(non-streaming)"}`],
    ["Model", exchange.model || <span class="muted">{exchange.unknown_model ?? "–"}</span>],
    [outcome === "completed" ? "Served by" : "Last tried", provider === "" ? "no provider" : answered],
    ...callerFacts(exchange),
  ];
}

/** Labels that the client sent, each linked to all requests with the same one. */
function callerFacts({
  user,
  session,
  agent,
  parent_agent,
  batch,
  tags,
  affinity,
}: ExchangeView): readonly NamedFact[] {
  const callerFields = [
    ["User", "user", user],
    ["Session", "session", session],
    ["Agent", "agent", agent],
    ["Parent agent", "agent", parent_agent],
    ["Batch", "batch", batch],
    ...Object.entries(tags).map(([name, value]) => [`Tag ${name}`, "tag", `${name}=${value}`] as const),
  ] as const;
  const links = callerFields.flatMap(([name, filter, value]) => {
    if (value === null) return [];
    const href = hrefOf(`requests?${new URLSearchParams({ [filter]: value })}`);
    return [[name, <a href={href}>{value}</a>] as const];
  });
  return [...links, ["Affinity", affinity]];
}

function factsOf(exchange: ExchangeView): readonly NamedFact[] {
  const { unit, charged, list_cost: listCost } = exchange;
  const tokens = (tokenCount: number) => (hasUsageRecord(exchange) ? count(tokenCount) : "–");
  return [
    ["Charged", `${unit === "credits" ? exactCredits(charged) : count(charged)} ${unit}`, "number"],
    ...(listCost === null ? [] : [["List cost", `${exactCredits(listCost)} credits`, "number"] as const]),
    ...(exchange.units === null ? [] : [["Tokens", shortUnits(exchange.units), "number"] as const]),
    ["Input", tokens(exchange.input_tokens), "number"],
    ["Read from cache", tokens(exchange.cached_input_tokens), "number"],
    ["Written to cache", tokens(exchange.cache_write_tokens), "number"],
    ["Output", tokens(exchange.output_tokens), "number"],
    ["incl. reasoning", tokens(exchange.reasoning_tokens), "number"],
    ["Token source", exchange.basis ?? "–"],
    ["First byte", duration(exchange.first_byte_ms), "number"],
    ["Duration", duration(exchange.total_ms), "number"],
  ];
}

const attemptColumns: readonly Column<AttemptView>[] = [
  { name: "Deployment", cell: ({ deployment }) => deployment },
  {
    name: "Result",
    cell: ({ status, failure }) => (
      <>
        {status !== null && (
          <StatusCode status={status} outcome={failure === null ? "completed" : "failed"} />
        )}{" "}
        {failure === null ? "OK" : <code class="unbroken">{failure}</code>}
      </>
    ),
  },
  {
    name: "Provider message",
    class: "muted message",
    cell: ({ provider_message: message, cause }) => message ?? cause ?? "–",
  },
  { name: "Duration", class: "number", cell: ({ duration_ms }) => duration(duration_ms) },
];

/** The request in the address of the self-service page. */
export function OpenExchange() {
  const open = query.value.get("open");
  if (open === null) return null;
  return (
    <Dialog title="Request" onClose={() => setQuery({ open: null, entry: null })}>
      <div class="body stack wide">
        <Detail key={open} id={open} />
      </div>
    </Dialog>
  );
}

/** A page per request, with an address to share with a colleague. */
export function RequestPage({ id }: { id: string }) {
  return (
    <>
      <PageHead title="Request" about={<RequestId id={id} />}>
        <CopyButton text={location.href} label="Copy link" />
      </PageHead>
      <section class="card pad stack wide">
        <Detail id={id} />
      </section>
    </>
  );
}

function RequestId({ id }: { id: string }) {
  return (
    <span class="copyable line">
      <code>{id}</code> <CopyButton text={id} />
    </span>
  );
}

function Detail({ id }: { id: string }) {
  const entry = query.value.get("entry");
  const detail = useAnswer<ExchangeDetailView>(`/requests/${encodeURIComponent(id)}`, 0, { entry });
  return (
    <LoadedContent loaded={detail}>
      {({ request, explanation, attempts, entries, settle_ms: settleMs }) => (
        <>
          {(request?.outcome !== "completed" || attempts.length > 1) && <p class="well">{explanation}</p>}
          {request && (
            <>
              <h2>Timeline</h2>
              <TimeLine phases={phasesOf(request, attempts, settleMs)} />
            </>
          )}
          {attempts.length > 0 && <h2>Attempts</h2>}
          {attempts.length > 0 && (
            <Table rows={attempts} columns={attemptColumns} keyOf={(_, place) => place} />
          )}
          {request && (
            <div class="facts">
              <FactList facts={originOf(request)} />
              <FactList facts={factsOf(request)} />
            </div>
          )}
          <h2>Ledger</h2>
          <Ledger entries={entries} />
          {request && <RequestContent id={request.id} />}
        </>
      )}
    </LoadedContent>
  );
}

function Ledger({ entries }: Pick<ExchangeDetailView, "entries">) {
  if (entries.length === 0) return <p class="muted">Nothing was charged.</p>;
  return (
    <>
      <EntryTable entries={entries} />
      {entries.map(
        ({ id, calculation }) =>
          calculation !== null && (
            <p key={id} class="muted">
              {calculation}
            </p>
          ),
      )}
    </>
  );
}
