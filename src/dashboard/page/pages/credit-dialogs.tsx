import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import { TextField } from "../parts/field.tsx";
import { tell } from "../parts/notices.tsx";
import { creditsOf } from "./key-form.ts";

/** What the answer to a credit entry has beside the key or the account. */
interface Entered {
  readonly repeated: boolean;
}

interface CreditDialogProps {
  /** Of the operation. */
  readonly path: string;
  /** What a notice calls the key or the account. */
  readonly name: string;
  readonly about: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Adds credit to a key or an account. */
export function TopUpBalance({ path, name, about, children, onDone, onClose }: CreditDialogProps) {
  const [amount, setAmount] = useState("");
  const [reference, setReference] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    const texts = { reference: reference === "" ? null : reference, note: note === "" ? null : note };
    const { repeated } = await api.post<Entered>(path, { amount: creditsOf(amount), ...texts });
    if (repeated) tell(`Nothing was added: ${name} has had the reference ${reference} before.`, "bad");
    else tell(`${amount} credits added to ${name}.`);
    onDone();
  };
  return (
    <Ask about={about} title="Top up" verb="Top up" onClose={onClose} submit={submit}>
      {children}
      <TextField label="Amount in credits" value={amount} onValue={setAmount} inputMode="decimal" required />
      <TextField
        label="Reference"
        value={reference}
        onValue={setReference}
        placeholder="An invoice, for example"
        hint="The same one again adds nothing."
      />
      <TextField label="Note" value={note} onValue={setNote} placeholder="Kept with the ledger entry" />
    </Ask>
  );
}

/** Corrects the balance of a key or an account. */
export function AdjustBalance({ path, name, about, onDone, onClose }: CreditDialogProps) {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    await api.post(path, { amount: creditsOf(amount), note });
    tell(`The balance of ${name} was corrected.`);
    onDone();
  };
  return (
    <Ask about={about} title="Adjust credit" verb="Adjust" onClose={onClose} submit={submit}>
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
