import { useState } from "preact/hooks";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { IssuedKeyView, KeyList, KeyView } from "../../../admin/key-terms/schema.ts";
import type { ExchangeView } from "../../../admin/requests/schema.ts";
import { api, session, showKey, shownKey, signOut, useAnswer } from "../api.ts";
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
import { type DialogProps, useDialogs } from "../parts/dialogs.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Notices } from "../parts/notices.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty, LoadedContent } from "../parts/states.tsx";
import { path, query, setQuery } from "../router.ts";
import { nextTheme, theme } from "../theme.ts";
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
        <Button kind="quiet" icon={theme.value} label={`Theme: ${theme.value}`} onClick={nextTheme} />
        <Button kind="quiet" icon="sign-out" label="Sign out" onClick={signOut} />
      </header>
      <main id="content" tabIndex={-1}>
        {isDevicePage ? <ApproveDevice /> : <OwnKeys />}
      </main>
      <Notices />
    </div>
  );
}

function OwnKeys() {
  const keys = useAnswer<KeyList>("/keys", 15_000, { limit: 200, owner: "me" });
  const [ask, dialog] = useDialogs({ make: MakeKey }, null, keys.reload);
  return (
    <LoadedContent loaded={keys}>
      {({ data }) => {
        const chosen = data.find(({ id }) => id === query.value.get("key")) ?? data[0];
        return (
          <>
            {(data.length > 1 || session.value?.new_key) && (
              <div class="filters">
                {data.length > 1 && (
                  <SelectField
                    label="Key"
                    state={[chosen?.id ?? "", (key) => setQuery({ key })]}
                    choices={data.map(({ id, label, prefix }) => ({
                      value: id,
                      text: label === null ? `${prefix}…` : `${label} (${prefix}…)`,
                    }))}
                  />
                )}
                {session.value?.new_key && (
                  <Button icon="plus" onClick={ask("make")}>
                    New key
                  </Button>
                )}
              </div>
            )}
            {chosen === undefined ? (
              <Empty icon="keys" title="You have no key yet">
                {session.value?.new_key ? (
                  <p>Create one. It is shown only once.</p>
                ) : (
                  <p>Ask an operator to create one with the owner {session.value?.name}.</p>
                )}
              </Empty>
            ) : (
              <OwnKey key={chosen.id} id={chosen.id} onChange={keys.reload} />
            )}
            {dialog}
          </>
        );
      }}
    </LoadedContent>
  );
}

function MakeKey({ onDone, onClose }: DialogProps<null>) {
  const label = useState("");
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  if (issued !== null) return <Secret title="Your new key" issued={issued} onClose={onDone} />;
  const send = async () => {
    const newLabel = label[0].trim();
    const labelled = newLabel === "" ? {} : { label: newLabel };
    setIssued(await api.post<IssuedKeyView>("/keys", { owner: "me", ...labelled }));
  };
  return (
    <Ask title="New key" verb="Create key" onClose={onClose} send={send}>
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

function Rotate({ apiKey: key, onChange }: { apiKey: KeyView; onChange: () => void }) {
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

function OwnKey({ id, onChange }: { id: string; onChange: () => void }) {
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
            {shownKey.value === null && <Rotate apiKey={value} onChange={onChange} />}
          </PageHead>
          <KeyFacts apiKey={value} />
          <KeyCapCards apiKey={value} />
          <KeySpend apiKey={value} />
          <Card title="Newest requests">
            <LoadedContent loaded={newest}>
              {(page) => (
                <ExchangeTable exchanges={page.data} withKey={false}>
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
