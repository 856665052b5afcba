import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { IssuedKeyView, KeyView } from "../../../admin/views.ts";
import { type ApiError, api, shownKey } from "../api.ts";
import { balanceWords } from "../parts/balance.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { tell } from "../parts/notices.tsx";
import { Secret } from "../parts/secret.tsx";
import { Failure } from "../parts/states.tsx";
import { remember } from "../secrets.ts";
import { KeyFields } from "./key-fields.tsx";
import { creditsOf, formOf, hoursOf, requestOf } from "./key-form.ts";

export interface KeyDialogProps {
  readonly of: KeyView;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface AskProps {
  /** Whose key it is about stands below the title: its menu is one of many alike. */
  readonly of: KeyView;
  readonly title: string;
  readonly verb: string;
  readonly danger?: boolean;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly submit: () => Promise<void>;
}

/** A form in a dialog that stays open, with the server's words, when the server refuses. */
function Ask(props: AskProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const { main, side } = balanceWords(props.of);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await props.submit();
    } catch (cause) {
      setError(cause as ApiError);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form class="body" onSubmit={onSubmit}>
        <p class="muted" data-test="whose">
          {props.of.label ?? "No label"} · <code>{props.of.prefix}…</code> · {main} {side}
        </p>
        {props.children}
        {error && <Failure error={error} />}
        <footer>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" kind={props.danger ? "danger" : "primary"} busy={busy}>
            {props.verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

export function TopUpKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    await api.post(`/keys/${key.id}/topup`, { amount: creditsOf(amount), note: note === "" ? null : note });
    tell(`${amount} credits added to ${key.label ?? key.prefix}.`);
    onDone();
  };
  return (
    <Ask of={key} title="Top up" verb="Top up" onClose={onClose} submit={submit}>
      <TextField label="Amount in credits" value={amount} onValue={setAmount} inputMode="decimal" required />
      <TextField label="Note" value={note} onValue={setNote} placeholder="Kept with the ledger entry" />
    </Ask>
  );
}

export function AdjustKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    await api.post(`/keys/${key.id}/adjust`, { amount: creditsOf(amount), note });
    tell("The balance was corrected.");
    onDone();
  };
  return (
    <Ask of={key} title="Adjust credit" verb="Adjust" onClose={onClose} submit={submit}>
      <TextField
        label="Credits to add, or with a minus to take away"
        value={amount}
        onValue={setAmount}
        inputMode="decimal"
        placeholder="-5"
        required
      />
      <TextField
        label="Why"
        value={note}
        onValue={setNote}
        placeholder="Kept with the ledger entry"
        required
      />
    </Ask>
  );
}

export function EditKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const [form, setForm] = useState(() => formOf(key));
  const submit = async () => {
    await api.patch(`/keys/${key.id}`, requestOf(form, key.mode));
    tell("The key was changed.");
    onDone();
  };
  return (
    <Ask of={key} title="Edit key" verb="Save" onClose={onClose} submit={submit}>
      <KeyFields form={form} mode={key.mode} onForm={setForm} />
    </Ask>
  );
}

export function RotateKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const [hours, setHours] = useState("0");
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  const submit = async () => {
    const grace = Math.round(hoursOf(hours) * 3600);
    const made = await api.post<IssuedKeyView>(`/keys/${key.id}/rotate`, { grace_seconds: grace });
    remember(made);
    if (shownKey.value !== null) shownKey.value = made.key;
    setIssued(made);
  };
  if (issued) {
    return <Secret title="The new secret" issued={issued} onClose={onDone} />;
  }
  return (
    <Ask of={key} title="Rotate secret" verb="Rotate" onClose={onClose} submit={submit}>
      <p>The key keeps its balance, label and limits, and gets a new secret.</p>
      <TextField
        label="Hours that the old secret still works"
        value={hours}
        onValue={setHours}
        inputMode="decimal"
      />
    </Ask>
  );
}

export function RevokeKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const submit = async () => {
    await api.post(`/keys/${key.id}/revoke`);
    tell("The key was revoked.");
    onDone();
  };
  return (
    <Ask of={key} title="Revoke key" verb="Revoke for good" danger onClose={onClose} submit={submit}>
      <p>
        Every further call with <code>{key.prefix}…</code> is refused. <strong>This cannot be undone.</strong>{" "}
        To stop a key for a while, disable it instead.
      </p>
    </Ask>
  );
}
