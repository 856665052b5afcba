import { useState } from "preact/hooks";
import { type ApiError, session, showKey } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Failure } from "../parts/states.tsx";

/** For whoever is not signed in: sign in, or show a key. */
export function ShowKey() {
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await showKey(key.trim());
    } catch (cause) {
      setError(cause as ApiError);
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <Mark />
        <h1>Your key</h1>
        <p class="muted">See what is left, what it was spent on, and how to use it.</p>
        {session.value?.oidc && (
          <a class="button primary" href="/admin/oidc/login?return=/usage">
            Sign in with your organization
          </a>
        )}
        <TextField
          label="API key"
          secret
          value={key}
          onValue={setKey}
          required
          hint="Stays in this tab: it is not stored, and a reload forgets it."
        />
        {error && <Failure error={error} />}
        <Button type="submit" kind="primary" busy={busy}>
          Show
        </Button>
      </form>
    </main>
  );
}
