import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import type { DialogProps } from "../parts/dialogs.tsx";
import { TextField } from "../parts/field.tsx";
import { notify } from "../parts/notices.tsx";
import { creditsOf } from "./key-form.ts";

interface CreditDialogProps extends Omit<DialogProps<unknown>, "subject"> {
  /** The path of the key or the account. */
  readonly path: string;
  /** The key's or account's name in notices. */
  readonly name: string;
  readonly about: ComponentChildren;
  readonly children?: ComponentChildren;
}

export function TopUpBalance({ path, name, children, ...dialog }: CreditDialogProps) {
  const [amount, reference, note] = [useState(""), useState(""), useState("")];
  const send = async () => {
    const texts = { reference: reference[0] || null, note: note[0] || null };
    const { repeated } = await api.post<{ repeated: boolean }>(`${path}/topup`, {
      amount: creditsOf(amount[0]),
      ...texts,
    });
    if (repeated)
      notify(`Nothing was added: ${name} already has an entry with reference ${reference[0]}.`, "bad");
    else notify(`${amount[0]} credits added to ${name}.`);
  };
  return (
    <Ask {...dialog} title="Top up" verb="Top up" send={send}>
      {children}
      <TextField label="Amount in credits" state={amount} inputMode="decimal" required />
      <TextField
        label="Reference"
        state={reference}
        placeholder="An invoice, for example"
        hint="A repeated reference adds nothing."
      />
      <TextField label="Note" state={note} placeholder="Stored with the ledger entry" />
    </Ask>
  );
}

export function AdjustBalance({ path, name, ...dialog }: CreditDialogProps) {
  const [amount, note] = [useState(""), useState("")];
  const send = async () => api.post(`${path}/adjust`, { amount: creditsOf(amount[0]), note: note[0] });
  const done = `Balance of ${name} adjusted.`;
  const label = "Credits to add; negative to subtract";
  return (
    <Ask {...dialog} title="Adjust credit" verb="Adjust" send={send} done={done}>
      <TextField label={label} state={amount} inputMode="decimal" placeholder="-5" required />
      <TextField label="Reason" state={note} placeholder="Stored with the ledger entry" required />
    </Ask>
  );
}
