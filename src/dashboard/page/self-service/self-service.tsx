import { useState } from "preact/hooks";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { IssuedKeyView, KeyList, KeyView } from "../../../admin/key-terms/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { api, session, showKey, shownKey, useAnswer } from "../api.ts";
import { OpenExchange } from "../pages/exchange-detail.tsx";
import { ExchangeTable } from "../pages/exchange-table.tsx";
import { RotateKey } from "../pages/key-dialogs.tsx";
import { KeyFacts, KeySpend } from "../pages/key-parts.tsx";
import { SignInForm } from "../pages/sign-in.tsx";
import { Ask } from "../parts/ask.tsx";
import { KeyStatus } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { KeyCapCards } from "../parts/cap-bars.tsx";
import { Card } from "../parts/card.tsx";
import { ask, type DialogProps, OpenDialog } from "../parts/dialogs.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Notices } from "../parts/notices.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PersonButtons } from "../parts/person-buttons.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty, LoadedContent } from "../parts/states.tsx";
import { path, query, setQuery } from "../router.ts";
import { Search } from "../search/search-dialog.tsx";
import { useOwnFound } from "../search/use-found.ts";
import { ApproveDevice, SignInForDevice } from "./device.tsx";
import { Snippets } from "./snippets.tsx";

/** The self-service page. Members see only their own keys and usage. */
export function SelfService() {
  const isDevicePage = /^device(\/|$)/.test(path.value);
  if (isDevicePage && !session.value?.signed_in) return <SignInForDevice />;
  if (!session.value?.signed_in && shownKey.value === null) return <ShowKey />;
  return (
    <div class="self-service">
      <header class="line">
        <Mark />
        <strong>Sluice</strong>
        <small class="muted">{session.value?.name}</small>
        <Search useFound={useOwnFound} placeholder="Key, request id, code or action" />
        <PersonButtons />
      </header>
      <main id="content" tabIndex={-1}>
        {isDevicePage ? <ApproveDevice /> : <OwnKeys />}
      </main>
      <OpenDialog />
      <Notices />
    </div>
  );
}

function OwnKeys() {
  const keys = useAnswer<KeyList>("/keys", 15_000, { limit: 200, owner: "me" });
  return <LoadedContent loaded={keys}>{({ data }) => <ChosenKey keys={data} />}</LoadedContent>;
}

function ChosenKey({ keys }: { keys: readonly KeyView[] }) {
  const chosen = keys.find(({ id }) => id === query.value.get("key")) ?? keys[0];
  const newKey = session.value?.new_key && (
    <Button icon="plus" onClick={ask(MakeKey, null)}>
      New key
    </Button>
  );
  if (chosen === undefined) {
    return (
      <>
        <PageHead title="Your keys">{newKey}</PageHead>
        <Empty icon="keys" title="You have no key yet">
          {newKey ? (
            <p>Create one. It is shown only once.</p>
          ) : (
            <p>Ask an operator to create one with the owner {session.value?.name}.</p>
          )}
        </Empty>
      </>
    );
  }
  return (
    <>
      {(keys.length > 1 || newKey) && (
        <div class="filters">
          {keys.length > 1 && (
            <SelectField
              label="Key"
              state={[chosen.id, (key) => setQuery({ key })]}
              choices={keys.map(({ id, label, prefix }) => ({
                value: id,
                text: label === null ? `${prefix}…` : `${label} (${prefix}…)`,
              }))}
            />
          )}
          {newKey}
        </div>
      )}
      <OwnKey key={chosen.id} id={chosen.id} />
    </>
  );
}

function MakeKey({ onClose }: DialogProps<null>) {
  const label = useState("");
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  if (issued !== null) return <Secret title="Your new key" issued={issued} onClose={onClose} />;
  const send = async () => {
    const newLabel = label[0].trim();
    const labelled = newLabel === "" ? {} : { label: newLabel };
    setIssued(await api.post<IssuedKeyView>("/keys", { owner: "me", ...labelled }));
  };
  return (
    <Ask title="New key" verb="Create key" stays onClose={onClose} send={send}>
      <TextField label="Label" state={label} placeholder="For example, my laptop" />
      <NewKeyTerms />
    </Ask>
  );
}

/** The operator's terms for keys that people create themselves. */
function NewKeyTerms() {
  const terms = session.value?.new_key;
  if (terms == null) return null;
  return (
    <p class="muted">
      The key is billed to the account <strong>{terms.account}</strong>
      {terms.cap === null ? ", without its own cap." : ` and capped at ${terms.cap}.`}
    </p>
  );
}

function ShowKey() {
  const key = useState("");
  const about = "See what is left, what it was spent on, and how to use the key.";
  return (
    <SignInForm title="Your keys" about={about} verb="Show" send={() => showKey(key[0].trim())}>
      <TextField
        label="API key"
        type="password"
        state={key}
        required
        hint="Stays in this tab: it is not stored, and a reload forgets it."
      />
    </SignInForm>
  );
}

function OwnKey({ id }: { id: string }) {
  const key = useAnswer<KeyView>(`/keys/${id}`, 10_000);
  const newest = useAnswer<Page<ExchangeView>>("/requests", 10_000, { key: id, limit: 20 });
  return (
    <LoadedContent loaded={key}>
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
            {shownKey.value === null && value.status === "active" && (
              <Button icon="exchanges" onClick={ask(RotateKey, value)}>
                Rotate
              </Button>
            )}
          </PageHead>
          <KeyFacts apiKey={value} />
          <KeyCapCards apiKey={value} />
          <KeySpend apiKey={value} />
          <Card title="Newest requests">
            <LoadedContent loaded={newest}>
              {(page) => (
                <ExchangeTable exchanges={page.data}>
                  <p>See below how to send the first request.</p>
                </ExchangeTable>
              )}
            </LoadedContent>
          </Card>
          <section class="card pad">
            <h2>Use this key</h2>
            <Snippets apiKey={value} secret={shownKey.value} />
          </section>
          <OpenExchange />
        </>
      )}
    </LoadedContent>
  );
}
