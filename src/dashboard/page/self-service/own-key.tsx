import type { KeyView } from "../../../admin/keys/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import type { Page } from "../../../admin/routes/shapes.ts";
import { shownKey, useAnswer } from "../api.ts";
import { OpenExchange } from "../pages/exchange-detail.tsx";
import { ExchangeTable } from "../pages/exchange-table.tsx";
import { RotateKey } from "../pages/key-dialogs.tsx";
import { KeyFacts, KeySpend } from "../pages/key-parts.tsx";
import { KeyStatus } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { KeyCapCards } from "../parts/cap-bars.tsx";
import { Card } from "../parts/card.tsx";
import { useDialogs } from "../parts/dialogs.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Shown } from "../parts/states.tsx";
import { Snippets } from "./snippets.tsx";

function Rotate({ of: key, onChange }: { of: KeyView; onChange: () => void }) {
  const [ask, dialog] = useDialogs({ rotate: RotateKey }, key, onChange);
  return (
    <>
      {key.status === "active" && (
        <Button icon="exchanges" onClick={ask("rotate")}>
          Rotate
        </Button>
      )}
      {dialog}
    </>
  );
}

export function OwnKey({ id, onChange }: { id: string; onChange: () => void }) {
  const key = useAnswer<KeyView>(`/keys/${id}`, 10_000);
  const newest = useAnswer<Page<ExchangeView>>("/requests", 10_000, { key: id, limit: 20 });
  return (
    <Shown loaded={key}>
      {(value) => (
        <>
          <PageHead
            title={value.label ?? "Your key"}
            about={
              <>
                <code>{value.prefix}…</code>{" "}
                <KeyStatus status={value.status} account={value.account_status} />
              </>
            }
          >
            {shownKey.value === null && <Rotate of={value} onChange={onChange} />}
          </PageHead>
          <KeyFacts of={value} />
          <KeyCapCards of={value} />
          <KeySpend of={value} />
          <Card title="Newest requests">
            <Shown loaded={newest}>
              {(page) => (
                <ExchangeTable exchanges={page.data} withKey={false}>
                  <p>What follows shows how to make the first request.</p>
                </ExchangeTable>
              )}
            </Shown>
          </Card>
          <section class="card pad">
            <h2>Use it</h2>
            <Snippets of={value} secret={shownKey.value} />
          </section>
          <OpenExchange />
        </>
      )}
    </Shown>
  );
}
