import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, api, askWhoIsSignedIn, session } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Failure } from "../parts/states.tsx";

export function SignIn() {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("input")?.focus(), []);

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await api.post("/session", { token });
      await askWhoIsSignedIn();
    } catch (cause) {
      setError(cause as ApiError);
      setBusy(false);
    }
  };

  return (
    <main class="sign-in">
      <form ref={form} class="card" onSubmit={submit}>
        <Mark />
        <h1>Sluice</h1>
        <p class="muted">Sign in to see and steer this gateway.</p>
        {session.value?.oidc && (
          <a
            class="button primary"
            href={`/admin/oidc/login?return=${encodeURIComponent(location.pathname)}`}
          >
            Sign in with your organization
          </a>
        )}
        <TextField
          label="Admin token"
          secret
          value={token}
          onValue={setToken}
          required
          autoComplete="current-password"
          hint="Printed at the first start or left in first-start.txt in the data folder, or the value of SLUICE_ADMIN_TOKEN."
        />
        {error && <Failure error={error} />}
        <Button type="submit" kind="primary" busy={busy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
