import type { UsageView } from "../../../admin/reports/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { type Query, useAnswer } from "../api.ts";
import { change, credits, exactCredits } from "../format.ts";
import { modelChoices, useModels } from "../model-list.ts";
import { ComboField } from "../parts/combo-box.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { parameter } from "../router.ts";

/** The cost that the requests of a report would have had on a chosen model, which is stored in the address. */
export function WhatIf({ query }: { query: Query }) {
  const [model, setModel] = parameter("as");
  const models = useModels();
  const generating = (models.value?.data ?? []).filter(({ serves }) => serves.includes("generation"));
  return (
    <section class="card stack what-if" aria-label="What if">
      <ComboField
        label="What if all of this had run on"
        state={[model, setModel]}
        choices={modelChoices(generating)}
        placeholder="Choose a model"
      />
      {model !== "" && <Comparison query={{ ...query, as: model }} />}
    </section>
  );
}

function Comparison({ query }: { query: Query }) {
  const compared = useAnswer<UsageView>("/usage", 0, { ...query, by: "provider", limit: 1 });
  return (
    <LoadedContent loaded={compared} rows={1}>
      {({
        as_model: model,
        as_spend: spend = 0,
        compared_spend: own = 0,
        compared_requests: requests = 0,
        not_comparable: others = [],
      }) => (
        <div role="status">
          <p>
            {plural(requests, "charged request")} cost{" "}
            <span title={`${exactCredits(own)} credits`}>{credits(own)}</span> credits, token budgets at list
            price. On {model} it would have been{" "}
            <strong title={`${exactCredits(spend)} credits`}>{credits(spend)}</strong> credits
            {own > 0 && spend !== own && ` (${change(spend, own)?.replace(" vs. before", "")})`}.
          </p>
          {others.map(({ reason, requests: count }) => (
            <p key={reason} class="muted">
              {plural(count, "request")} cannot be compared: {model} has no price for this ({reason}).
            </p>
          ))}
        </div>
      )}
    </LoadedContent>
  );
}
