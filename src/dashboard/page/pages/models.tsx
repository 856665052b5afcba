import { useState } from "preact/hooks";
import type { DeploymentView, ModelCheckView, ModelView, PriceView } from "../../../admin/models/schema.ts";
import type { UsageRowView, UsageView } from "../../../admin/reports/schema.ts";
import type { Page } from "../../../admin/routes/shapes.ts";
import { abilitiesOf, showsTokenPrice } from "../../../base/models/model-uses.ts";
import { plural } from "../../../base/text/plural.ts";
import { api, useAnswer, useLoaded } from "../api.ts";
import { count, duration, moment, percent, price, rate, shortCount } from "../format.ts";
import { healthText } from "../health.ts";
import { rowsByGroup } from "../model-usage.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, LoadedContent } from "../parts/states.tsx";
import { useAction } from "../parts/submit.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Warnings } from "../parts/warnings.tsx";
import { hrefOf } from "../router.ts";

function Health({ deployment }: { deployment: DeploymentView }) {
  const { wait_ms: waitMs, keys, keys_ready: ready, failing } = deployment.health;
  const { tone, text } = healthText(deployment.health);
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {failing && (
        <small class="bad">
          <code>{failing.failure}</code> at {moment(failing.at)}
          {failing.last_error !== null && `: ${failing.last_error}`}
        </small>
      )}
      {waitMs > 0 && <small class="muted">again in {duration(waitMs)}</small>}
      {ready < keys && (
        <small class="muted">
          {ready} of {plural(keys, "credential")} ready
        </small>
      )}
    </>
  );
}

const tokenRates = new Set(["input", "output", "cached_input", "cache_write", "cache_write_1h"]);

/** Prices of tools, audio and images, and the names of tiers. */
function extrasOf(prices: PriceView): string[] {
  const { long_context: long } = prices;
  const above = long && `${price(long.input)} in, ${price(long.output)} out above ${shortCount(long.above)}`;
  const priced = Object.entries(prices).flatMap(([name, usd]) =>
    typeof usd === "number" && !tokenRates.has(name) ? [`${price(usd)} ${name}`] : [],
  );
  const bySize = (["images", "requests"] as const).flatMap((unit) => {
    const { [unit]: usd } = prices;
    return typeof usd === "object" ? Object.entries(usd).map(([size, each]) => ({ unit, size, each })) : [];
  });
  return [
    ...(above ? [above] : []),
    ...priced,
    ...bySize.map(({ unit, size, each }) => `${price(each)} ${unit} ${size}`),
    ...Object.keys(prices.tiers ?? {}).map((tier) => `tier ${tier}`),
  ];
}

/** The price of a million tokens, if tokens are charged, and the other prices below it. */
function pricesOf(prices: PriceView, { serves }: ModelView): readonly [string, string] {
  const sides = [["in", prices.input] as const, ["out", prices.output] as const];
  const tokens = sides.flatMap(([side, usd]) =>
    showsTokenPrice(serves, usd) ? [`${price(usd)} ${side}`] : [],
  );
  const extras = extrasOf(prices);
  if (tokens.length === 0) return [extras.join(" · ") || "–", ""];
  const cached = tokens.length === sides.length ? [`${price(prices.cached_input)} cached`] : [];
  return [tokens.join(" · "), [...cached, ...extras].join(" · ")];
}

function loadNote({ health }: DeploymentView): string {
  const { recent_attempts: attempts, recent_failures: failures } = health;
  if (attempts === 0) return "no attempts in 30 s";
  return `${percent(failures, attempts)} of ${count(attempts)} failed`;
}

const columnsOf = (model: ModelView): readonly Column<DeploymentView>[] => [
  {
    name: "Deployment",
    class: "lead",
    cell: ({ name }) => <code>{name}</code>,
    note: ({ dialects }) => `speaks ${dialects.join(", ")}`,
  },
  { name: "Health", cell: (deployment) => <Health deployment={deployment} /> },
  {
    name: "Order",
    class: "number",
    cell: ({ priority }) => `priority ${priority}`,
    note: ({ weight }) => `weight ${weight}`,
  },
  {
    name: "Load",
    class: "number",
    cell: ({ health }) => `${count(health.in_flight)} in flight`,
    note: loadNote,
  },
  {
    name: "Price per million",
    class: "number",
    cell: ({ price: prices }) => (prices ? pricesOf(prices, model)[0] : <span class="muted">no price</span>),
    note: ({ price: prices }) => prices && pricesOf(prices, model)[1],
  },
];

/** The results of calling each deployment of a model. */
function Checks({ checks }: { checks: readonly ModelCheckView[] }) {
  return (
    <ul class="checks stack" aria-live="polite">
      {checks.map((check) => (
        <li class="line" key={`${check.provider}/${check.upstream_model}/${check.key}`}>
          <Badge tone={check.ok ? "good" : "bad"}>{check.ok ? "answers" : "fails"}</Badge>
          <code>
            {check.provider}/{check.upstream_model}
            {check.key !== null && ` key ${check.key}`}
          </code>
          <span class="muted">{check.problem ?? `in ${duration(check.took_ms)}`}</span>
        </li>
      ))}
    </ul>
  );
}

/** The outcomes of the last day's calls, and the share of cached input. */
function LastDay({ model: { id }, usage }: { model: ModelView; usage: UsageRowView | undefined }) {
  const calls = usage === undefined ? 0 : usage.completed + usage.failed;
  if (usage === undefined || calls === 0) return <p class="muted pad">No calls in the last 24 hours.</p>;
  const { completed, recovered_attempts: covered, cached_input_share: cached } = usage;
  return (
    <p class="muted pad" data-test="last-day">
      Last 24 hours: {percent(completed, calls)} of{" "}
      <a href={hrefOf(`requests?since=24h&model=${encodeURIComponent(id)}`)}>{plural(calls, "call")}</a>{" "}
      succeeded{cached !== null && ` · ${rate(cached)} of their input was cached`} ·{" "}
      {plural(covered, "failed attempt was", "failed attempts were")} recovered by retry
    </p>
  );
}

/** The source and the age of the price. */
function PriceOrigin({ model: { price_source: source, price_checked: day } }: { model: ModelView }) {
  if (source === null) return null;
  const where = source === "catalog" ? "Price from the built-in catalog" : "Price from the configuration";
  return (
    <p class="muted pad" data-test="price-origin">
      {where}
      {day !== null && `, checked ${day}`}
    </p>
  );
}

function ModelCard({ model, usage }: { model: ModelView; usage: UsageRowView | undefined }) {
  const [checks, setChecks] = useState<readonly ModelCheckView[]>([]);
  const [busy, check] = useAction(async () => {
    const { data } = await api.post<{ data: ModelCheckView[] }>("/models/check", { model: model.id });
    setChecks(data);
  });
  return (
    <section class="card flush model">
      <header>
        <h2>{model.id}</h2>
        {model.display_name && <span class="muted">{model.display_name}</span>}
        <span class="line">
          {abilitiesOf(model).map((name) => (
            <span class="tag" key={name}>
              {name.replaceAll("_", " ")}
            </span>
          ))}
          {model.free && <span class="tag">free</span>}
          {!model.public && <span class="tag">not public</span>}
        </span>
        <span class="muted limits">
          {model.context_window !== null && `${shortCount(model.context_window)} window`}
          {model.max_output_tokens !== null && ` · ${shortCount(model.max_output_tokens)} output`}
        </span>
        <a href={hrefOf(`playground?model=${encodeURIComponent(model.id)}`)}>try</a>
        {model.serves.includes("generation") && (
          <ForAdmins>
            <Button kind="quiet" busy={busy} onClick={check}>
              check
            </Button>
          </ForAdmins>
        )}
      </header>
      <Table rows={model.deployments} columns={columnsOf(model)} keyOf={({ name }) => name} unseenHead />
      {checks.length > 0 && <Checks checks={checks} />}
      <LastDay model={model} usage={usage} />
      <PriceOrigin model={model} />
      {model.aliases.length > 0 && <p class="muted pad">Also asked for as {model.aliases.join(", ")}.</p>}
      {model.fallbacks.length > 0 && <p class="muted pad">Falls back to {model.fallbacks.join(", ")}.</p>}
    </section>
  );
}

function usageOfModels(cursor: string | null): Promise<UsageView> {
  return api.get<UsageView>("/usage", { by: "model", since: "24h", cursor });
}

export function Models() {
  const models = useAnswer<Page<ModelView>>("/models", 5000);
  const lastDay = useLoaded("usage of models", () => rowsByGroup(usageOfModels), 30_000);
  return (
    <>
      <PageHead
        title="Models"
        about="Models that clients can request, and the deployments that serve them."
      />
      <Warnings />
      <LoadedContent loaded={models}>
        {({ data }) =>
          data.length === 0 ? (
            <div class="card">
              <Empty icon="models" title="No models">
                <p>Add a provider and a model to the configuration to see them here.</p>
              </Empty>
            </div>
          ) : (
            data.map((model) => (
              <ModelCard key={model.id} model={model} usage={lastDay.value?.get(model.id)} />
            ))
          )
        }
      </LoadedContent>
    </>
  );
}
