import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, askWhoIsSignedIn, session } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { Failure } from "../parts/states.tsx";
import { useSubmit } from "../parts/submit.ts";

interface SignInFormProps {
  readonly title: string;
  readonly about: string;
  readonly verb: string;
  readonly send: () => Promise<void>;
  readonly children: ComponentChildren;
}

/** Shown to visitors who are not signed in: sign in, or enter a secret. */
export function SignInForm({ title, about, verb, send, children }: SignInFormProps) {
  const { busy, error, onSubmit } = useSubmit(send);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("a.primary, input")?.focus(), []);
  const address = `/admin/oidc/login?return=${encodeURIComponent(location.pathname)}`;
  return (
    <main class="sign-in">
      <form ref={form} class="card stack" onSubmit={onSubmit}>
        <Mark />
        <h1>{title}</h1>
        <p class="muted">{about}</p>
        {session.value?.oidc && (
          <a class="button primary" href={address}>
            Sign in with your organization
          </a>
        )}
        {children}
        {error && <Failure error={error} />}
        <Button type="submit" {...(session.value?.oidc ? {} : { kind: "primary" })} busy={busy}>
          {verb}
        </Button>
      </form>
    </main>
  );
}

export function SignIn() {
  const token = useState("");
  const send = async () => {
    await api.post("/session", { token: token[0] });
    await askWhoIsSignedIn();
  };
  return (
    <SignInForm title="Sluice" about="Sign in to manage this gateway." verb="Sign in" send={send}>
      <TextField
        label="Admin token"
        type="password"
        state={token}
        required
        autocomplete="current-password"
        hint="Printed at the first start, in first-start.txt in the data folder, or the value of SLUICE_ADMIN_TOKEN."
      />
    </SignInForm>
  );
}
