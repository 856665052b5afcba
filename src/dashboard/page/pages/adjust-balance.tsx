import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import { TextField } from "../parts/field.tsx";
import { tell } from "../parts/notices.tsx";
import { creditsOf } from "./key-form.ts";

interface AdjustBalanceProps {
  /** Of the operation. */
  readonly path: string;
  readonly about: ComponentChildren;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Corrects the balance of a key or an account. */
export function AdjustBalance({ path, about, onDone, onClose }: AdjustBalanceProps) {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    await api.post(path, { amount: creditsOf(amount), note });
    tell("The balance was corrected.");
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
