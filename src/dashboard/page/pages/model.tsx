import { useState } from "preact/hooks";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { DeploymentView, ModelCheckView, ModelView, PriceView } from "../../../admin/models/schema.ts";
import type { UsageView } from "../../../admin/reports/schema.ts";
import { abilitiesOf } from "../../../base/models/model-uses.ts";
import { plural } from "../../../base/text/plural.ts";
import { api, useAnswer } from "../api.ts";
import { count, duration, moment, percent, rate, shortCount } from "../format.ts";
import { healthText } from "../health.ts";
import { type PriceLine, priceLines } from "../model-prices.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { FactTiles } from "../parts/fact-tiles.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Money } from "../parts/money.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Failure, LoadedContent } from "../parts/states.tsx";
import { useAction } from "../parts/submit.ts";
import { type Column, Table } from "../parts/table.tsx";
import { goTo, hrefOf } from "../router.ts";
import { SnippetChoice } from "../self-service/snippets.tsx";

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

function loadNote({ health }: DeploymentView): string {
  const { recent_attempts: attempts, recent_failures: failures } = health;
  if (attempts === 0) return "no attempts in 30 s";
  return `${percent(failures, attempts)} of ${count(attempts)} failed`;
}

const deploymentColumns: readonly Column<DeploymentView>[] = [
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
];

const priceColumns: readonly Column<PriceLine>[] = [
  { name: "Price of", class: "lead", cell: ([name]) => name },
  { name: "USD", class: "number", cell: ([, usd]) => usd, note: ([, , unit]) => unit },
];

function PriceTable({ lines }: { lines: readonly PriceLine[] }) {
  return <Table rows={lines} columns={priceColumns} keyOf={([name]) => name} unseenHead />;
}

/** The prices of each deployment, now and later; one table if they are all the same. */
function Prices({ model }: { model: ModelView }) {
  const lists = new Map<string, { names: string[]; price: PriceView | null }>();
  for (const { name, price } of model.deployments) {
    const list = lists.get(JSON.stringify(price)) ?? { names: [], price };
    list.names.push(name);
    lists.set(JSON.stringify(price), list);
  }
  return (
    <>
      {[...lists.values()].flatMap(({ names, price }) => [
        <Card
          key={names[0]}
          title={lists.size === 1 ? "Prices" : `Prices of ${names.join(", ")}`}
          actions={<PriceOrigin model={model} />}
        >
          {price === null ? (
            <p class="muted pad">No price. Only token-budget keys can use it, unless it is free.</p>
          ) : (
            <PriceTable lines={priceLines(price, model.serves)} />
          )}
        </Card>,
        ...Object.entries(price?.later ?? {}).map(([day, next]) => (
          <Card
            key={`${names[0]} ${day}`}
            title={lists.size === 1 ? `Prices from ${day}` : `Prices of ${names.join(", ")} from ${day}`}
          >
            <PriceTable lines={priceLines(next, model.serves)} />
          </Card>
        )),
      ])}
    </>
  );
}

/** The source and the age of the price. */
function PriceOrigin({ model: { price_source: source, price_checked: day } }: { model: ModelView }) {
  if (source === null) return null;
  const where = source === "catalog" ? "from the built-in catalog" : "from the configuration";
  return (
    <small class="muted" data-test="price-origin">
      {where}
      {day !== null && `, checked ${day}`}
    </small>
  );
}

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

/** The outcomes of the last day's calls, and what was charged for them. */
function LastDay({ model }: { model: ModelView }) {
  const usage = useAnswer<UsageView>("/usage", 15_000, { by: "model", since: "24h", limit: 1_000 });
  const row = usage.value?.data.find(({ group }) => group === model.id);
  const calls = row === undefined ? 0 : row.completed + row.failed;
  const requests = hrefOf(`requests?since=24h&model=${encodeURIComponent(model.id)}`);
  if (usage.error && usage.value === null) return <Failure error={usage.error} onRetry={usage.reload} />;
  return (
    <FactTiles
      facts={[
        [
          "Requests, 24 h",
          calls === 0 ? "none" : <a href={requests}>{count(calls)}</a>,
          row && plural(row.failed, "failure"),
        ],
        [
          "Succeeded",
          row === undefined || calls === 0 ? "–" : percent(row.completed, calls),
          row && `${plural(row.recovered_attempts, "attempt")} recovered by retry`,
        ],
        ["First byte", duration(row?.average_first_byte_ms ?? null), "average"],
        [
          "Spend, 24 h",
          row ? <Money amount={row.spend} /> : "–",
          row && `credits · ${rate(row.cached_input_share)} of input cached`,
        ],
        ["Window", model.context_window === null ? "–" : shortCount(model.context_window), "tokens"],
        [
          "Output",
          model.max_output_tokens === null ? "–" : shortCount(model.max_output_tokens),
          "tokens at most",
        ],
      ]}
    />
  );
}

function Names({ model: { aliases, fallbacks } }: { model: ModelView }) {
  if (aliases.length === 0 && fallbacks.length === 0) return null;
  return (
    <section class="card stack">
      <h2>Names and fallbacks</h2>
      {aliases.length > 0 && <p>Also requested as {aliases.join(", ")}.</p>}
      {fallbacks.length > 0 && <p>Falls back to {fallbacks.join(", ")}.</p>}
    </section>
  );
}

function Tags({ model }: { model: ModelView }) {
  const names = [
    ...abilitiesOf(model).map((name) => name.replaceAll("_", " ")),
    model.free && "free",
    !model.public && "not public",
  ];
  return (
    <span class="line tags">
      {names
        .filter((name) => name !== false)
        .map((name) => (
          <span class="tag" key={name}>
            {name}
          </span>
        ))}
    </span>
  );
}

function ModelDetails({ model }: { model: ModelView }) {
  const [checks, setChecks] = useState<readonly ModelCheckView[]>([]);
  const [busy, check] = useAction(async () => {
    const { data } = await api.post<{ data: ModelCheckView[] }>("/models/check", { model: model.id });
    setChecks(data);
  });
  return (
    <>
      <PageHead title={model.id} about={<Tags model={model} />}>
        <Button
          icon="playground"
          onClick={() => goTo(hrefOf(`playground?model=${encodeURIComponent(model.id)}`))}
        >
          Try
        </Button>
        {model.serves.includes("generation") && (
          <ForAdmins>
            <Button icon="tail" busy={busy} onClick={check}>
              Check
            </Button>
          </ForAdmins>
        )}
      </PageHead>
      <LastDay model={model} />
      <Card title="Deployments">
        <Table rows={model.deployments} columns={deploymentColumns} keyOf={({ name }) => name} unseenHead />
        {checks.length > 0 && <Checks checks={checks} />}
      </Card>
      <Prices model={model} />
      <Names model={model} />
      {model.serves.includes("generation") && (
        <section class="card stack">
          <h2>Use it</h2>
          <SnippetChoice mode="credit" secret={null} exampleOf={() => model} />
        </section>
      )}
    </>
  );
}

export function ModelPage({ id }: { id: string }) {
  const models = useAnswer<Page<ModelView>>("/models", 5000, { id });
  return (
    <>
      {models.value === null && <PageHead title={id} />}
      <LoadedContent loaded={models}>
        {({ data: [model] }) =>
          model ? (
            <ModelDetails model={model} />
          ) : (
            <>
              <PageHead title={id} />
              <div class="card">
                <Empty icon="models" title="This model is not served">
                  <p>
                    <a href={hrefOf("models")}>All models</a>
                  </p>
                </Empty>
              </div>
            </>
          )
        }
      </LoadedContent>
    </>
  );
}
