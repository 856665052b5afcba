import type { Page } from "../../../admin/formats/shapes.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import type { UsageView } from "../../../admin/reports/schema.ts";
import type { EntryView, ExchangeView } from "../../../admin/requests/schema.ts";
import { useAccountNames } from "../account-names.ts";
import { useAnswer } from "../api.ts";
import { nameOfKey } from "../key-name.ts";
import { KeyStatus } from "../parts/badge.tsx";
import { KeyCapCards } from "../parts/cap-bars.tsx";
import { Card } from "../parts/card.tsx";
import { Choose, choicesOf } from "../parts/choose.tsx";
import { FirstRequest } from "../parts/first-request.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { hrefOf, query } from "../router.ts";
import { spendSince } from "../self-service/spend-by-day.tsx";
import { WhatIf } from "../usage/what-if.tsx";
import { EntryTable } from "./entry-table.tsx";
import { ExchangeTable } from "./exchange-table.tsx";
import { isShared } from "./key-form.ts";
import { KeyMenu } from "./key-menu.tsx";
import { KeyFacts, KeySpend } from "./key-parts.tsx";

const kinds = { charge: "Charges", topup: "Top-ups", adjustment: "Corrections", overrun: "Overruns" };

export function KeyPage({ id }: { id: string }) {
  const key = useAnswer<KeyView>(`/keys/${id}`, 5000);
  const usage = useAnswer<UsageView>("/usage", 15_000, { key: id, by: "key", since: "1970-01-01T00:00:00Z" });
  const exchanges = useAnswer<Page<ExchangeView>>("/requests", 5000, { key: id, limit: 10 });
  const names = useAccountNames();
  const kind = query.value.get("kind") ?? "";
  const entries = useAnswer<Page<EntryView>>("/entries", 5000, { key: id, kind, limit: 10 });
  return (
    <>
      {key.value === null && <PageHead title="Key" />}
      <LoadedContent loaded={key}>
        {(value) => (
          <>
            <PageHead
              title={nameOfKey(value)}
              about={
                <>
                  <code>{value.prefix}…</code>{" "}
                  <KeyStatus status={value.status} account={value.account_status} />{" "}
                  {value.mode === "credit" ? "credit key" : "token-budget key"}
                  {value.owner !== null && ` of ${value.owner}`}
                  {isShared(value) && (
                    <>
                      , paid by <a href={hrefOf(`accounts/${value.account}`)}>{names(value.account)}</a>
                    </>
                  )}
                </>
              }
            >
              <KeyMenu apiKey={value} showsButtons />
            </PageHead>
            <KeyFacts apiKey={value} figures={usage.value?.total ?? null} />
            <KeyCapCards apiKey={value} />
            <KeySpend apiKey={value} />
            <WhatIf query={{ key: value.id, since: spendSince() }} />
            <Card title="Newest requests" actions={<a href={hrefOf(`requests?key=${value.id}`)}>all</a>}>
              <LoadedContent loaded={exchanges}>
                {(page) => (
                  <ExchangeTable exchanges={page.data}>
                    <FirstRequest by={value} />
                  </ExchangeTable>
                )}
              </LoadedContent>
            </Card>
            <Card
              title="Newest ledger entries"
              actions={<Choose name="kind" label="Kind of entry" choices={choicesOf(kinds)} />}
            >
              <LoadedContent loaded={entries}>
                {(page) => <EntryTable entries={page.data} isFiltered={kind !== ""} />}
              </LoadedContent>
            </Card>
          </>
        )}
      </LoadedContent>
    </>
  );
}
