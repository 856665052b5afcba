import { useState } from "preact/hooks";
import type { IssuedKeyView, KeyList } from "../../../admin/views.ts";
import { type ApiError, api, session, shownKey, signOut } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Notices } from "../parts/notices.tsx";
import { Secret } from "../parts/secret.tsx";
import { Empty, Failure, Shown } from "../parts/states.tsx";
import { query, setQuery } from "../router.ts";
import { nextTheme, theme } from "../theme.ts";
import { OwnKey } from "./own-key.tsx";
import { ShowKey } from "./show-key.tsx";

/** The key holder's page: what is theirs, and nothing of anybody else. */
export function Holder() {
  if (!session.value?.signed_in && shownKey.value === null) return <ShowKey />;
  return (
    <div class="holder">
      <header>
        <Mark />
        <strong>Sluice</strong>
        <small class="muted">{session.value?.name}</small>
        <Button kind="quiet" icon={theme.value} label={`Theme: ${theme.value}`} onClick={nextTheme} />
        <Button kind="quiet" icon="leave" label="Leave" onClick={signOut} />
      </header>
      <main id="content" tabIndex={-1}>
        <OwnKeys />
      </main>
      <Notices />
    </div>
  );
}

function OwnKeys() {
  const keys = useLoaded("own keys", () => api.get<KeyList>("/keys", { limit: 200 }), 15_000);
  const [making, setMaking] = useState(false);
  return (
    <Shown loaded={keys}>
      {({ data }) => {
        const chosen = data.find(({ id }) => id === query.value.get("key")) ?? data[0];
        return (
          <>
            {(data.length > 1 || session.value?.may_create_keys) && (
              <div class="filters">
                {data.length > 1 && (
                  <SelectField
                    label="Key"
                    value={chosen?.id ?? ""}
                    onValue={(id) => setQuery({ key: id })}
                    choices={data.map(({ id, label, prefix }) => ({
                      value: id,
                      text: label === null ? `${prefix}…` : `${label} (${prefix}…)`,
                    }))}
                  />
                )}
                {session.value?.may_create_keys && (
                  <Button icon="plus" onClick={() => setMaking(true)}>
                    New key
                  </Button>
                )}
              </div>
            )}
            {chosen === undefined ? (
              <Empty icon="keys" title="You have no key yet">
                <p>An operator makes one with you as its owner: {session.value?.name}.</p>
              </Empty>
            ) : (
              <OwnKey key={chosen.id} id={chosen.id} onChange={keys.reload} />
            )}
            {making && (
              <MakeKey
                onClose={() => {
                  setMaking(false);
                  keys.reload();
                }}
              />
            )}
          </>
        );
      }}
    </Shown>
  );
}

function MakeKey({ onClose }: { onClose: () => void }) {
  const [label, setLabel] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  if (issued !== null) return <Secret title="Your new key" issued={issued} onClose={onClose} />;
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      setIssued(await api.post<IssuedKeyView>("/keys", label.trim() === "" ? {} : { label: label.trim() }));
    } catch (cause) {
      setError(cause as ApiError);
    }
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <form class="body" onSubmit={submit}>
        <TextField label="Label" value={label} onValue={setLabel} placeholder="Such as: my laptop" />
        {error && <Failure error={error} />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Create key
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
