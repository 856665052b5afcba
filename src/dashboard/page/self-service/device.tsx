import { useState } from "preact/hooks";
import type { DeviceView } from "../../../admin/auth/device/schema.ts";
import { api, session } from "../api.ts";
import { moment } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Failure } from "../parts/states.tsx";
import { useAction, useSubmit } from "../parts/submit.ts";
import { path } from "../router.ts";

/** Only a person can approve, so there is no field for a token or a key here. */
export function SignInForDevice() {
  const address = `/admin/oidc/login?return=${encodeURIComponent(location.pathname)}`;
  return (
    <main class="sign-in">
      <div class="card stack">
        <Mark />
        <h1>Sign in to continue</h1>
        {session.value?.oidc ? (
          <a class="button primary" href={address}>
            Sign in with your organization
          </a>
        ) : (
          <p>The proxy in front of this gateway has not signed you in. Ask your operator for its address.</p>
        )}
      </div>
    </main>
  );
}

/** The page on which a person decides about a terminal that requests a key, or a program that wants to sign in. */
export function ApproveDevice() {
  const typed = useState(path.value.replace(/^device\/?/, ""));
  const [device, setDevice] = useState<DeviceView | null>(null);
  const look = useSubmit(async () => {
    setDevice(await api.get<DeviceView>("/device", { user_code: typed[0] }));
  });
  if (device !== null) return <Decision device={device} onDecided={setDevice} />;
  return (
    <>
      <PageHead title="Connect a terminal" />
      <form class="card stack" onSubmit={look.onSubmit}>
        <TextField
          label="Code"
          state={typed}
          required
          placeholder="XXXX-XXXX"
          hint="Your terminal shows it."
        />
        {look.error && <Failure error={look.error} />}
        <Button type="submit" kind="primary" busy={look.busy}>
          Continue
        </Button>
      </form>
    </>
  );
}

function Decision({ device, onDecided }: { device: DeviceView; onDecided: (device: DeviceView) => void }) {
  const decide = (verb: "approve" | "deny") => async () =>
    onDecided(await api.post<DeviceView>(`/device/${verb}`, { user_code: device.user_code }));
  const approve = useSubmit(decide("approve"));
  const [isDenying, deny] = useAction(decide("deny"));
  const texts = { key: keyTexts, sign_in: signInTexts, operator: operatorTexts }[device.purpose];
  if (device.state === "approved") return <Outcome title="Approved">{texts.approved}</Outcome>;
  if (device.state === "denied") return <Outcome title="Denied">{texts.denied}</Outcome>;
  return (
    <>
      <PageHead title={`${texts.title}: ${device.user_code}`} />
      <form class="card stack" onSubmit={approve.onSubmit}>
        <p>
          {device.purpose === "sign_in" ? <strong>{device.client ?? "A program"}</strong> : "A terminal at "}
          {device.purpose === "sign_in" ? " on " : ""}
          <strong>{device.address}</strong>
          {device.device === null ? "" : `, which calls itself “${device.device}”,`} {texts.wants},{" "}
          {moment(device.requested_at)}.
        </p>
        {!device.is_own_address && (
          <div class="callout warn" role="alert">
            <Icon name="warning" />
            <p>This is not the address that you are using now. Approve only if you know why.</p>
          </div>
        )}
        <p>
          Approve only if you {texts.began} just now, and your terminal shows the code{" "}
          <strong>{device.user_code}</strong>. If you got this code or link from someone else, deny it:{" "}
          {texts.risk}
        </p>
        {approve.error && <Failure error={approve.error} />}
        <p class="line">
          <Button type="submit" kind="primary" busy={approve.busy}>
            Approve
          </Button>
          <Button busy={isDenying} onClick={deny}>
            Deny
          </Button>
        </p>
      </form>
    </>
  );
}

const keyTexts = {
  title: "Connect a terminal",
  wants: "requested a key in your name",
  began: (
    <>
      ran <code>sluice login</code> yourself
    </>
  ),
  risk: "they would get a key that spends your credit.",
  approved: "Go back to your terminal: it receives the key now.",
  denied: "The terminal receives no key.",
};

const operatorTexts = {
  title: "Operate from a terminal",
  wants: "requested an admin token with your role",
  began: (
    <>
      ran <code>sluice login --operator</code> yourself
    </>
  ),
  risk: "they would operate this gateway with your role.",
  approved: "Go back to your terminal: it receives the token now.",
  denied: "The terminal receives no token.",
};

const signInTexts = {
  title: "Sign in a program",
  wants: "wants to work in your name",
  began: "signed in there yourself",
  risk: "they would work in your name and spend your credit.",
  approved: "Go back to your terminal: it is signed in now.",
  denied: "It is not signed in.",
};

function Outcome({ title, children }: { title: string; children: string }) {
  return (
    <>
      <PageHead title={title} />
      <p role="status">{children}</p>
    </>
  );
}
