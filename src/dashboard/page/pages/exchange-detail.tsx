import type { AttemptView, ExchangeDetailView, ExchangeView } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { count, duration, exactCredits, moment, shortUnits } from "../format.ts";
import { OutcomeBadge, StatusCode } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FactList, type NamedFact } from "../parts/fact-list.tsx";
import { Shown } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { hrefOf, query, setQuery } from "../router.ts";
import { EntryTable } from "./entry-table.tsx";
import { hasUsageRecord } from "./exchange-table.tsx";

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
    ["Route", `${exchange.route || "–"} ${exchange.stream ? "(stream)" : "(whole)"}`],
    ["Model", exchange.model || <span class="muted">{exchange.unknown_model ?? "–"}</span>],
    [outcome === "completed" ? "Answered by" : "Asked last", provider === "" ? "no provider" : answered],
    ...saidOf(exchange),
  ];
}

/** What the client said about the request, each as a link to all that say the same. */
function saidOf({ user, session, tags, affinity }: ExchangeView): readonly NamedFact[] {
  const said = [
    ["User", "user", user],
    ["Session", "session", session],
    ...Object.entries(tags).map(([name, value]) => [`Tag ${name}`, "tag", `${name}=${value}`] as const),
  ] as const;
  const links = said.flatMap(([name, filter, value]) => {
    if (value === null) return [];
    const href = hrefOf(`exchanges?${new URLSearchParams({ [filter]: value })}`);
    return [[name, <a href={href}>{value}</a>] as const];
  });
  return [...links, ["Affinity", affinity]];
}

function figuresOf(exchange: ExchangeView): readonly NamedFact[] {
  const { unit, charged, list_cost: listCost } = exchange;
  const tokens = (of: number) => (hasUsageRecord(exchange) ? count(of) : "–");
  return [
    ["Charged", `${unit === "credits" ? exactCredits(charged) : count(charged)} ${unit}`, "number"],
    ...(listCost === null ? [] : [["List cost", `${exactCredits(listCost)} credits`, "number"] as const]),
    ...(exchange.units === null ? [] : [["Metered", shortUnits(exchange.units), "number"] as const]),
    ["Input", tokens(exchange.input_tokens), "number"],
    ["Read from cache", tokens(exchange.cached_input_tokens), "number"],
    ["Written to cache", tokens(exchange.cache_write_tokens), "number"],
    ["Output", tokens(exchange.output_tokens), "number"],
    ["of it reasoning", tokens(exchange.reasoning_tokens), "number"],
    ["Figures", exchange.basis ?? "–"],
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
        {failure === null ? "answered" : <code>{failure}</code>}
      </>
    ),
  },
  { name: "The provider said", class: "muted message", cell: ({ said, cause }) => said ?? cause ?? "–" },
  { name: "Took", class: "number", cell: ({ duration_ms }) => duration(duration_ms) },
];

/** The exchange that the page's address names. */
export function OpenExchange() {
  const open = query.value.get("open");
  return open === null ? null : <ExchangeDetail key={open} id={open} />;
}

function ExchangeDetail({ id }: { id: string }) {
  const detail = useAnswer<ExchangeDetailView>(`/requests/${encodeURIComponent(id)}`, 0, {
    entry: query.value.get("entry"),
  });
  return (
    <Dialog title="Exchange" onClose={() => setQuery({ open: null, entry: null })}>
      <div class="body stack wide">
        <p class="copyable line">
          <code>{id}</code> <CopyButton text={id} />
        </p>
        <Shown loaded={detail}>
          {({ exchange, explanation, attempts, entries }) => (
            <>
              <p class="well">{explanation}</p>
              {attempts.length > 0 && <h3>Attempts</h3>}
              {attempts.length > 0 && (
                <Table rows={attempts} columns={attemptColumns} keyOf={(_, place) => place} />
              )}
              {exchange && (
                <div class="facts">
                  <FactList facts={originOf(exchange)} />
                  <FactList facts={figuresOf(exchange)} />
                </div>
              )}
              <h3>Ledger</h3>
              {entries.length === 0 ? (
                <p class="muted">Nothing was charged.</p>
              ) : (
                <>
                  <EntryTable entries={entries} />
                  {entries.map(
                    ({ id: entry, sum }) =>
                      sum !== null && (
                        <p key={entry} class="muted">
                          {sum}
                        </p>
                      ),
                  )}
                </>
              )}
            </>
          )}
        </Shown>
      </div>
    </Dialog>
  );
}
